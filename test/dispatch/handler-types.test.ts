import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hoverText } from '../support/language-server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');

/** In characters, the path included. */
const LONGEST_ERROR = 300;

/** What handler developers write, right and wrong, each as a file of its own. */
const snippets = {
  right: `
    import { defineHandlers, fail, retry, skip } from 'HANDLER';
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
    });`,
  misspeltKind: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({ async media_availible() {} });`,
  wrongMember: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({ async media_available(event) { return void event.channel_id; } });`,
  wrongOutcome: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({ async media_available() { return true; } });`,
  sameKindTwice: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({ media_created: () => {}, media_created: () => {} });`,
  unknownContext: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({ async media_available(_event, ctx) { ctx.retries; } });`,
  storedDate: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({
      async media_available(_event, ctx) { (await ctx.once('announce', () => new Date())).getTime(); },
    });`,
  stateOfNothing: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({
      async media_available(_event, ctx) { ctx.state.set('gone', undefined); },
    });`,
  changedEvent: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({ async media_available(event) { event.media_id = 'other'; } });`,
  missingAwait: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({
      async media_available(_event, ctx) {
        const page = ctx.once('create page', async () => ({ url: 'https://cms.example/1' }));
        ctx.log.info(page.url);
      },
    });`,
  retryWithoutReason: `
    import { defineHandlers, retry } from 'HANDLER';
    export const handlers = defineHandlers({ async media_available() { return retry({ after: 1000 }); } });`,
  skipWithoutReason: `
    import { defineHandlers, skip } from 'HANDLER';
    export const handlers = defineHandlers({ async media_available() { return skip(); } });`,
  unknownUnchecked: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({ unknown(event) { event.media_id.toUpperCase(); } });`,
  statusesUnchecked: `
    import { defineHandlers } from 'HANDLER';
    export const handlers = defineHandlers({
      async media_available(event, ctx) { await ctx.statuses.schedule({ status: event.media_id }, new Date()); },
    });`,
};

const CRM = `
    import { z } from 'zod';
    import { defineApp, defineHandlers, combineHandlers } from 'DOOR';
    class Crm { readonly url: string; constructor(url: string) { this.url = url; } async post(id: string): Promise<number> { return id.length; } end() {} }
    const settings = z.object({ CRM_URL: z.url(), CRM_PAGE: z.coerce.number().default(10) });
    export const used = [defineApp, defineHandlers, combineHandlers, settings, Crm];`;

/** What is shared is opened by `start`, and handlers, here or elsewhere, know its type. */
const apps = {
  rightApp: `${CRM}
    export const app = defineApp({
      settings,
      async start({ settings, log, signal }) {
        const crm = new Crm(settings.CRM_URL);
        log.info({ page: settings.CRM_PAGE.toFixed(), stopped: signal.aborted }, 'open');
        return { app: { crm }, close: () => crm.end() };
      },
      handlers: {
        async media_available(event, ctx) { (await ctx.app.crm.post(event.media_id)).toFixed(); },
      },
      routes(router, { app, settings, states }) {
        router.get('/crm', async (req, res) => {
          for await (const { resource, value } of states<number>('media', 'posted')) res.write(resource + value.toFixed());
          res.json({ url: app.crm.url, page: settings.CRM_PAGE.toFixed(), asked: req.path });
        });
      },
    });`,
  rightElsewhere: `${CRM}
    const media = defineHandlers<{ crm: Crm }>({ async media_available(event, ctx) { await ctx.app.crm.post(event.media_id); } });
    const tracks = defineHandlers({ track_created() {} });
    export const app = defineApp({
      settings,
      start: ({ settings: { CRM_URL } }) => ({ app: { crm: new Crm(CRM_URL) } }),
      handlers: combineHandlers(media, tracks),
    });`,
  rightWithout: `${CRM}
    export const app = defineApp({ handlers: { media_available() {} }, routes(router) { router.get('/x', (_req, res) => void res.send('x')); } });`,
  appNothing: `${CRM}
    export const app = defineApp({ handlers: { media_available(_event, ctx) { ctx.app.crm; } } });`,
  appMisused: `${CRM}
    export const app = defineApp({
      start: () => ({ app: { crm: new Crm('') } }),
      handlers: { media_available(_event, ctx) { ctx.app.crm.put(); } },
    });`,
  appOther: `${CRM}
    const media = defineHandlers<{ pool: string }>({});
    export const app = defineApp({ start: () => ({ app: { crm: new Crm('') } }), handlers: media });`,
  appSetting: `${CRM}
    export const app = defineApp({ settings, start: ({ settings }) => ({ app: settings.CRM_PORT }), handlers: {} });`,
  appStarted: `${CRM}
    export const app = defineApp({ start: () => new Crm(''), handlers: {} });`,
  appMember: `${CRM}
    export const app = defineApp({ handlers: {}, route() {} });`,
  appUnopened: `${CRM}
    export const app = defineApp({ handlers: defineHandlers<{ crm: Crm }>({}) });`,
  rightOtherOrder: `${CRM}
    const handlers = defineHandlers<{ crm: Crm }>({ media_available: (event, ctx) => void ctx.app.crm.post(event.media_id) });
    export const app = defineApp({
      handlers,
      routes(router, { app }) { router.get('/', (_req, res) => void res.send(app.crm.url)); },
      start: ({ settings }) => ({ app: { crm: new Crm(settings.CRM_URL) }, close: () => Promise.resolve() }),
      settings,
    });`,
  appUntyped: `${CRM}
    export const handlers = defineHandlers({ media_available(_event, ctx) { ctx.app.crm; } });`,
};

let directory: string;
let output: string;

beforeAll(() => {
  directory = mkdtempSync(join(root, 'node_modules', '.handler-types-'));
  const handler = '../../src/dispatch/handler.ts';
  const names = Object.entries({ ...snippets, ...apps }).map(([name, text]) => {
    const door = '../../src/index.ts';
    writeFileSync(join(directory, `${name}.ts`), text.replace('HANDLER', handler).replace('DOOR', door));
    return `${name}.ts`;
  });
  const config = { extends: '../../tsconfig.json', files: names, include: [] };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
  output = spawnSync(
    process.execPath,
    [tsc, '--project', directory, '--pretty', 'false', '--singleThreaded'],
    {
      encoding: 'utf8',
    },
  ).stdout;
});

afterAll(() => rmSync(directory, { recursive: true }));

function errorsIn(name: keyof typeof snippets | keyof typeof apps): string[] {
  return output.split('\n').filter((line) => line.includes(`${name}.ts`));
}

describe('defineApp, as the compiler sees it,', () => {
  test.each(['rightApp', 'rightElsewhere', 'rightWithout', 'rightOtherOrder'] as const)(
    'lets an app through, when its parts fit each other, without an error: %s',
    (name) => expect(errorsIn(name)).toEqual([]),
  );

  test.each([
    ['appNothing', 'nothing is opened that a handler uses', "'ctx.app' is possibly 'undefined'"],
    ['appMisused', 'a handler uses what is not there', "'put'"],
    ['appOther', 'handlers expect something else', 'pool'],
    ['appSetting', 'start uses a setting that is none', "'CRM_PORT'"],
    ['appStarted', 'start does not say what is shared', "Type '() => Crm' is not assignable"],
    ['appUnopened', 'nothing opens what handlers expect', '{ readonly start: unknown; }'],
    ['appMember', 'a member is misspelt', "'route'"],
    ['appUntyped', 'handlers do not say what they expect', "'ctx.app' is of type 'unknown'"],
  ] as const)('refuses %s, when %s, with an error that names %s', (name, _, text) => {
    const [error = '', ...others] = errorsIn(name);
    expect(error).toContain(text);
    expect(others).toEqual([]);
    expect(error.length).toBeLessThan(LONGEST_ERROR);
  });
});

describe('defineHandlers, as the compiler sees it,', () => {
  test('lets handlers through, when they use all that they are given, without an error', () => {
    expect(errorsIn('right')).toEqual([]);
  });

  test.each([
    ['misspeltKind', 'a kind is misspelt', 'media_availible'],
    ['wrongMember', 'the kind does not have the member', 'channel_id'],
    ['wrongOutcome', 'a handler returns what is no outcome', 'media_available'],
    ['sameKindTwice', 'a kind stands there twice', 'multiple properties with the same name'],
    ['unknownContext', 'the context does not have the member', 'retries'],
    ['storedDate', 'a handler takes the stored result of a step for a Date', 'getTime'],
    ['stateOfNothing', 'a handler sets a state to undefined', 'undefined'],
    ['changedEvent', 'a handler changes the event', 'read-only'],
    [
      'missingAwait',
      'a handler does not await a step',
      "'url' does not exist on type 'Promise<{ url: string; }>'",
    ],
    ['retryWithoutReason', 'a retry has no reason', "Property 'reason' is missing"],
    ['skipWithoutReason', 'a skip has no reason', 'Expected 1 arguments'],
    [
      'unknownUnchecked',
      'the payload of an unknown kind is used unchecked',
      "'event.media_id' is of type 'unknown'",
    ],
    ['statusesUnchecked', 'ctx.statuses may be missing', "'ctx.statuses' is possibly 'undefined'"],
  ] as const)('refuses %s, when %s, with an error that names %s', (name, _, text) => {
    const [error = '', ...others] = errorsIn(name);
    expect(error).toContain(text);
    expect(others).toEqual([]);
    expect(error.length).toBeLessThan(LONGEST_ERROR); // a line, not a page of generics
  });

  test('says in an editor what the specification says of a kind, where its handler is written', async () => {
    const path = join(directory, 'right.ts');
    const text = readFileSync(path, 'utf8');
    const lines = text.split('\n');
    const line = lines.findIndex((one) => one.includes('async media_available'));
    const character = 2 + (lines[line] ?? '').indexOf('media_available');
    const shown = await hoverText(tsc, { path, text }, { line, character });
    expect(shown).toContain('Media is first publishable and indexed.');
  });
});
