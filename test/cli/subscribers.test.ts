import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import type { Finding } from '../../src/base/finding.ts';
import { HANDLED, settleAll } from '../support/claiming.ts';
import { deskForEachTest, ndjson } from '../support/event-desk.ts';
import { eventsIn } from '../support/events-in.ts';
import { eventually } from '../support/eventually.ts';
import { only, present } from '../support/only.ts';
import { type CliOptions, callCli, runCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

const HANDLERS = fileURLToPath(new URL('./handlers/subscribing.ts', import.meta.url));

/** Types a command in a project whose app has the subscribers search and captions. */
const run = (command: string, options: CliOptions = {}) =>
  callCli(command.split(' '), { ...options, env: { ...desk().env, HANDLERS, ...options.env } });

const json = async (command: string) => JSON.parse((await run(`${command} --json`)).stdout);

/** So many notifications of the past, one a media, which the handlers without a name have handled. */
async function past(count: number) {
  const store = await desk().store();
  for (let n = 0; n < count; n++)
    await store.queue.record(verified({ media_id: `m${n}`, at: Date.UTC(2026, 0, 1 + n) }));
  await settleAll(store, HANDLED);
  return store;
}

/** The same, of which both subscribers have events, which are pending. */
async function subscribed(count: number) {
  const store = await past(count);
  for (const name of ['search', 'captions']) await run(`subscribers start ${name} --since 2026-01-01`);
  return store;
}

test('a start makes the events of the past that a subscriber of the app has not, and says of how many the body is gone', async () => {
  const store = await past(4);
  const oldest = present((await eventsIn(store)).find(({ resource }) => resource === 'media:m1'));
  await store.queue.prune({ before: Date.now() + 1, limit: 1, among: [oldest.seq] });

  const unknown = await run('subscribers start serch --since 2026-01-01');
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  expect(unknown.stderr).toContain('the app has no subscriber serch: it has search, captions');
  expect((await run('subscribers start search')).code).toBe(2);
  expect(await json('subscribers')).toEqual([]);

  const started = await run('subscribers start search --since 2026-01-02');
  expect(started).toMatchObject({ code: 0, stdout: '2 events made for search\n' });
  expect(started.stderr).toContain('removed their bodies: 1 event\n');
  expect(await json('subscribers start search --since 2026-01-01')).toMatchObject({ events: 1, pruned: 1 });
  const made = await eventsIn(store, { subscriber: 'search' });
  expect(made.map(({ id, resource }) => [id.split('@')[1], resource]).toSorted()).toEqual([
    ['search', 'media:m0'],
    ['search', 'media:m2'],
    ['search', 'media:m3'],
  ]);
});

test('a list says how far each subscriber is and who has it; one that a living instance has is not removed', async () => {
  const store = await subscribed(3);
  await store.queue.record(verified({ media_id: 'later', at: Date.UTC(2026, 1) }));
  expect(await json('subscribers list')).toMatchObject([
    { name: 'captions', kinds: ['media_available'], behind: 1, pending: 3, dead: 0, instances: [] },
    { name: 'search', kinds: ['media_available', 'media_deleted'], behind: 1, pending: 3, instances: [] },
  ]);
  const listed = (await run('subscribers')).stdout;
  expect(listed).toMatch(/^search +1 +3 +0 +0 +none for over an hour +media_available, media_deleted$/m);
  expect((await run('status')).stdout).toMatch(/^subscriber search: pending 3, behind 1, in no instance$/m);

  const server = await desk().serve({ HANDLERS, INSTANCE_NAME: 'one' });
  await eventually(
    'all have ended',
    async () => (await store.queue.count({ subscriber: 'captions', status: 'dead' })) === 4,
  );
  await eventually('it has told', async () => (await json('subscribers'))[1].instances.length > 0);
  expect(await json('subscribers')).toMatchObject([
    { name: 'captions', behind: 0, pending: 0, dead: 4, instances: ['one'] },
    { name: 'search', behind: 0, pending: 0, dead: 0, instances: ['one'] },
  ]);
  expect((await run('status')).stdout).toMatch(/^subscriber search: pending 0, behind 0$/m);
  const refused = await run('subscribers remove search');
  expect(refused).toMatchObject({ code: 1, stderr: 'hookkit: search runs in one: deploy without it\n' });
  await server.stop();
  expect((await run('subscribers')).stdout).toMatch(/^search .* none since 2\S+Z +media_available/m);

  await run('events replay --all --subscriber captions');
  expect(await json('subscribers remove captions')).toEqual({
    subscriber: 'captions',
    dismissed: 4,
    behind: 0,
  });
  expect((await json('subscribers')).map(({ name }: { name: string }) => name)).toEqual(['search']);
  expect(await store.queue.count({ subscriber: 'captions', status: 'dismissed' })).toBe(4);
  const again = await run('subscribers remove captions');
  expect(again).toMatchObject({ code: 2, stdout: '' });
  expect(again.stderr).toContain('there is no subscriber captions: this database has search');
});

test('a replay with --run runs the handlers of the subscribers that it means, and of no others', async () => {
  const store = await subscribed(2);
  const RUNS = desk().path('runs');
  const replay = (how: string) =>
    runCli(`events replay --run ${how}`.split(' '), { env: { ...desk().env, HANDLERS, RUNS } });
  const ranFor = () => readFileSync(RUNS, 'utf8').match(/^\w+/gm)?.toSorted();
  expect(await replay('--all --subscriber search')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^handled +2$/m),
  });
  expect(ranFor()).toEqual(['search', 'search']);
  expect(await store.queue.count({ subscriber: 'captions', status: 'pending' })).toBe(2);

  const id = present((await eventsIn(store, { subscriber: '' })).at(-1)).id;
  await replay(`--id ${id}`);
  expect(ranFor()).toEqual(['main', 'search', 'search']);
  const all = await replay('--since 2026-01-02 --subscriber all --json');
  expect(all.code).toBe(1); // those of captions end as dead
  expect(JSON.parse(all.stdout)).toMatchObject({ handled: 2, dead: 1 });
  expect(ranFor()).toEqual(['main', 'main', 'search', 'search', 'search']);
  const absent = await replay('--all --subscriber serch');
  expect(absent).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('there is no subscriber serch'),
  });
});

test('lists, pages, states and prunings tell the events of subscribers apart, and recordings have none of them', async () => {
  const store = await subscribed(2);
  const main = present((await eventsIn(store, { resource: 'media:m0', subscriber: '' }))[0]);
  await runCli(['events', 'replay', '--run', '--all', '--subscriber', 'search'], {
    env: { ...desk().env, HANDLERS },
  });

  expect((await run('events list')).stdout).toMatch(/^\S+@captions .* pending /m);
  expect((await run('events list --subscriber main')).stdout).not.toContain('@');
  const search = ndjson((await run('events list --subscriber search --json')).stdout);
  expect(search.map(({ subscriber }) => subscriber)).toEqual(['search', 'search']);
  expect(ndjson((await run('events list --json')).stdout)).toHaveLength(6);
  expect(ndjson((await run('events export')).stdout)).toHaveLength(2);

  expect(await json(`events show ${main.id}`)).toMatchObject({
    subscriber: '',
    siblings: [
      { id: `${main.id}@captions`, subscriber: 'captions', status: 'pending' },
      { id: `${main.id}@search`, subscriber: 'search', status: 'handled' },
    ],
  });
  const shown = (await run(`events show ${main.id}@\u200bsearch`)).stdout; // as it is copied from an alert
  expect(shown).toMatch(/^subscriber +search$/m);
  expect(shown).toContain(`siblings\n  ${main.id}: handled\n  ${main.id}@captions: pending\n`);

  expect((await json('state show media:m0')).state).toEqual({});
  expect((await json('state show media:m0 --subscriber search')).state).toEqual({ indexed: 1 });
  expect((await run('state show media:m0 --subscriber search')).stdout).toMatch(/^indexed +1$/m);
  expect(await json('state delete media:m0')).toMatchObject({ deleted: 0 });
  expect(await json('state delete media:m0 --subscriber search')).toMatchObject({ deleted: 1 });
  expect((await json('state show media:m1 --subscriber search')).state).toEqual({ indexed: 1 });
  expect((await run('state show media:m0 --subscriber all')).code).toBe(2);

  expect(await json('events prune --older-than 0ms --subscriber search')).toMatchObject({ pruned: 2 });
  expect((await store.queue.event({ id: main.id }))?.body).toBeDefined();
});

test('handlers are listed, checked and tried for each subscriber', async () => {
  const store = await subscribed(1);
  const listed = (await run('handlers')).stdout;
  expect(listed).toMatch(/^media_available +yes +search, captions$/m);
  expect(listed).toMatch(/^media_deleted +none: ends as skipped +search$/m);
  expect((await json('handlers')).slice(0, 2)).toEqual([
    { kind: 'media_created', handler: true, subscribers: [] },
    { kind: 'media_available', handler: true, subscribers: ['search', 'captions'] },
  ]);
  const { findings } = await json('handlers check');
  const detail = (of: string) => only((findings as Finding[]).filter(({ check }) => check === of)).detail;
  expect(detail('handlers')).toMatch(/3 of 13 kinds have a handler; subscribers: search, captions$/);
  expect(detail('kinds')).toMatch(/^no handler for (?!.*media_deleted)/);

  const { id } = only(await eventsIn(store, { subscriber: 'search' }));
  await runCli(['events', 'replay', '--run', '--id', id], { env: { ...desk().env, HANDLERS } });
  expect(await json(`handlers try ${id}`)).toMatchObject({
    id,
    outcome: 'handled',
    state: { set: { indexed: 2 } },
  });
  expect((await json('state show media:m0 --subscriber search')).state).toEqual({ indexed: 1 });
  const composed = '--kind media_available --media m9';
  expect(await json(`handlers try --subscriber captions ${composed}`)).toMatchObject({
    id: expect.stringMatching(/@captions$/),
    outcome: 'fail',
    reason: 'captions answered 503',
  });
  const absent = await run(`handlers try --subscriber serch ${composed}`);
  expect(absent).toMatchObject({ code: 2, stderr: expect.stringContaining('no subscriber serch') });
  expect((await run(`handlers try ${id} --subscriber captions`)).code).toBe(2);
});
