import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { tsc } from '../support/tools.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** In characters, the path included. */
const LONGEST_ERROR = 300;

const RIGHT = `
    import { defineHandlers, fail, retry, skip } from 'DOOR';
    export const handlers = defineHandlers({
      async media_available(event, ctx) {
        const kind: 'media_available' = event.event;
        const id: string = event.media_id;
        const { at } = await ctx.once('announce', () => ({ at: 1 }));
        ctx.log.info({ kind, id, at, late: ctx.late, replay: ctx.replay, since: ctx.receivedAt.getTime() }, ctx.id);
        const count: number = ctx.state.get<number>('count') ?? 0;
        ctx.state.set('count', count + 1);
        ctx.state.set('last', { id, at: new Date() });
        ctx.state.delete('gone');
        if (ctx.attempt > 3) return fail('never');
        if (ctx.signal.aborted) return retry({ after: 1000, reason: 'stopped' });
      },
      track_created: (event) => skip(event.track_id + event.media_id + event.site_id + event.event_time),
      channel_idle() {},
      unknown(event) { return skip(String(event.anything)); },
    });`;

/** What is wrong in handlers, the handlers, and what the compiler's error names. */
const wrongHandlers = [
  ['a kind is misspelt', 'async media_availible() {}', 'media_availible'],
  ['a handler returns what is no outcome', 'async media_available() { return true; }', 'media_available'],
  [
    'a handler takes the stored result of a step for a Date',
    "async media_available(_event, ctx) { (await ctx.once('announce', () => new Date())).getTime(); }",
    'getTime',
  ],
  [
    'a handler does not await a step',
    "async media_available(_event, ctx) { ctx.log.info(ctx.once('page', async () => ({ url: '/1' })).url); }",
    "'url' does not exist on type 'Promise<{ url: string; }>'",
  ],
] as const;

const CRM = `
    import { z } from 'zod';
    import { defineApp, defineHandlers, combineHandlers } from 'DOOR';
    class Crm { readonly url: string; constructor(url: string) { this.url = url; } async post(id: string): Promise<number> { return id.length; } end() {} }
    const settings = z.object({ CRM_URL: z.url(), CRM_PAGE: z.coerce.number().default(10) });
    export const used = [defineApp, defineHandlers, combineHandlers, settings, Crm];`;

/** What is shared is opened by `start`, and handlers, here or elsewhere, know its type. */
const rightApps = {
  'all in place': `
    export const app = defineApp({
      settings,
      async start({ settings, log, signal, states, state }) {
        const crm = new Crm(settings.CRM_URL);
        for await (const { value } of states<number>('channel', 'on')) log.info({ on: value.toFixed(), all: await state('media:1') });
        log.info({ page: settings.CRM_PAGE.toFixed(), stopped: signal.aborted }, 'open');
        return { app: { crm }, close: () => crm.end() };
      },
      handlers: {
        async media_available(event, ctx) { (await ctx.app.crm.post(event.media_id)).toFixed(); },
      },
      limits: { track_created: 2, crm: { kinds: ['media_available', 'unknown'], most: 3 } },
      onDead: async (event, { id, error, attempts }, app) => app.crm.post([event.media_id, id, error, attempts.toFixed()].join()),
      routes(router, { app, settings, states }) {
        router.get('/crm', async (req, res) => {
          for await (const { resource, value } of states<number>('media', 'posted')) res.write(resource + value.toFixed());
          res.json({ url: app.crm.url, page: settings.CRM_PAGE.toFixed(), asked: req.path });
        });
      },
    });`,
  'handlers elsewhere': `
    const media = defineHandlers<{ crm: Crm }>({ async media_available(event, ctx) { await ctx.app.crm.post(event.media_id); } });
    const tracks = defineHandlers<{ page: string }>({ track_created() {} });
    export const app = defineApp({
      settings,
      start: ({ settings: { CRM_URL } }) => ({ app: { crm: new Crm(CRM_URL), page: '/1' } }),
      handlers: combineHandlers(media, tracks),
    });`,
};

/** What is wrong in an app, the app, and what the compiler's error names. */
const wrongApps = [
  [
    'handlers expect something else',
    "defineApp({ start: () => ({ app: { crm: new Crm('') } }), handlers: defineHandlers<{ pool: string }>({}) })",
    'pool',
  ],
  [
    'nothing opens what handlers expect',
    'defineApp({ handlers: defineHandlers<{ crm: Crm }>({}) })',
    '{ readonly start: unknown; }',
  ],
  [
    'a limit is of no kind',
    "defineApp({ handlers: {}, limits: { a: { kinds: ['b'], most: 2 } } })",
    '\'"b"\'',
  ],
] as const;

/** Each as a file of its own. */
const texts = new Map([
  ['right', RIGHT],
  ...wrongHandlers.map(
    ([name, handlers]) =>
      [
        name,
        `import { defineHandlers, fail, retry, skip } from 'DOOR'; export const handlers = [fail, retry, skip, defineHandlers({ ${handlers} })];`,
      ] as const,
  ),
  ...Object.entries(rightApps).map(([name, app]) => [name, CRM + app] as const),
  ...wrongApps.map(([name, app]) => [name, `${CRM} export const app = ${app};`] as const),
]);

let directory: string;
let output: string;

beforeAll(() => {
  directory = mkdtempSync(join(root, 'node_modules', '.handler-types-'));
  for (const [name, text] of texts) writeFileSync(fileOf(name), text.replace('DOOR', '../../src/index.ts'));
  const config = { extends: '../../tsconfig.json', files: [...texts.keys()].map(fileOf), include: [] };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
  const args = [tsc, '--project', directory, '--pretty', 'false', '--singleThreaded'];
  output = spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout;
});

afterAll(() => rmSync(directory, { recursive: true }));

function fileOf(name: string): string {
  return join(directory, `${name.replaceAll(' ', '-')}.ts`);
}

function errorsIn(name: string): string[] {
  const file = basename(fileOf(name));
  return output.split('\n').filter((line) => line.includes(`/${file}`));
}

test.each(['right', ...Object.keys(rightApps)])(
  'the compiler lets handlers and apps through, when they are right: %s',
  (name) => expect(errorsIn(name)).toEqual([]),
);

test.each([...wrongHandlers, ...wrongApps])('the compiler says in one line, when %s', (name, _, text) => {
  const [error = '', ...others] = errorsIn(name);
  expect(error).toContain(text);
  expect(others).toEqual([]);
  expect(error.length).toBeLessThan(LONGEST_ERROR); // a line, not a page of generics
});
