import { expect, test } from '@jest/globals';
import type { StateChange } from '../../src/store/event-store.ts';
import { claims, HANDLED } from '../support/claiming.ts';
import { inColumn } from '../support/engine.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { eventsIn } from '../support/events-in.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { commandsOf } from '../support/manual.ts';
import { only, present } from '../support/only.ts';
import { type CliOptions, runCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const desk = deskForEachTest();
const run = (args: readonly string[], options: CliOptions = {}) =>
  runCli(args, { ...options, env: { ...desk().env, ...options.env } });

/** Records an event of a media whose handler left this state. */
async function leave(state: readonly StateChange[], media_id = 'UUhbHm6C'): Promise<string> {
  const store = await desk().store();
  const { id } = await store.record(verified({ media_id }));
  const claim = present((await claims(store)).find((one) => one.id === id));
  await store.settle(claim, { ...HANDLED, state });
  return id;
}

const POSTS: readonly StateChange[] = [
  { name: 'posts', value: '["a","b"]' },
  { name: 'title', value: '"New"' },
];

test('is shown by name, as a table and as JSON, when a media has a state', async () => {
  await leave(POSTS);
  expect(await run(['state', 'show', 'media:UUhbHm6C'])).toEqual({
    code: 0,
    stderr: '',
    stdout: 'name   value\n-----  ---------\nposts  ["a","b"]\ntitle  "New"\n',
  });
  expect(JSON.parse((await run(['state', 'show', 'media:UUhbHm6C', '--json'])).stdout)).toEqual({
    resource: 'media:UUhbHm6C',
    state: { posts: ['a', 'b'], title: 'New' },
  });
});

test('is said to be none, when a channel has no state, to people and programs', async () => {
  await leave(POSTS);
  const none = { code: 0, stderr: '', stdout: 'channel:UUhbHm6C has no state\n' };
  expect(await run(['state', 'show', 'channel:UUhbHm6C'])).toEqual(none);
  expect(await run(['state', 'delete', 'channel:UUhbHm6C'])).toEqual(none);
  const { stdout } = await run(['state', 'show', 'channel:UUhbHm6C', '--json']);
  expect(JSON.parse(stdout)).toEqual({ resource: 'channel:UUhbHm6C', state: {} });
});

test('is deleted as a whole, when asked for, and that of others stays', async () => {
  await leave(POSTS);
  await leave(POSTS, 'other');
  const { code, stdout } = await run(['state', 'delete', 'media:UUhbHm6C']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'media:UUhbHm6C: 2 names deleted\n' });
  const json = await run(['state', 'delete', 'media:UUhbHm6C', '--json']);
  expect(JSON.parse(json.stdout)).toEqual({ resource: 'media:UUhbHm6C', deleted: 0 });
  const store = await desk().store();
  expect(await store.state('media:UUhbHm6C')).toEqual([]);
  expect(await store.state('media:other')).toHaveLength(2);
});

test.each([
  [['state', 'show', 'UUhbHm6C'], 2, 'It must be media:ID or channel:ID.'],
  [['state', 'delete', 'media:'], 2, 'It must be media:ID or channel:ID.'],
  [['state', 'delete'], 2, "missing required argument 'resource'"],
  [['state', 'show', 'media:UUhbHm6C'], 1, 'there is no database at '],
  [['state', 'delete', 'media:UUhbHm6C'], 1, 'there is no database at '],
])('is left alone, when asked for %j, with %i and the reason', async (args, code, message) => {
  const ended = await run(args, { env: desk().absent });
  expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: '' });
  expect(ended.stderr).toContain(message);
});

test('is shown with an event of its media, when events show is asked for it, cut in the text and whole as JSON', async () => {
  const long = 'x'.repeat(1000);
  const id = await leave([...POSTS, { name: 'long', value: JSON.stringify(long) }]);
  const { stdout } = await run(['events', 'show', id]);
  expect(stdout).toContain(
    `\n\nstate of media:UUhbHm6C\n  long: "${'x'.repeat(155)} ...\n  posts: ["a","b"]\n  title: "New"\n\n`,
  );
  expect(JSON.parse((await run(['events', 'show', id, '--json'])).stdout)).toMatchObject({
    id,
    state: { posts: ['a', 'b'], title: 'New', long },
  });
});

test('is not mentioned with an event, when its media has none, and empty as JSON', async () => {
  const id = await leave([]);
  expect((await run(['events', 'show', id])).stdout).not.toContain('state');
  expect(JSON.parse((await run(['events', 'show', id, '--json'])).stdout).state).toEqual({});
});

test('is visible, when name and value have text that turns around or hides, as escapes', async () => {
  const id = await leave([{ name: `n${SPOOF}`, value: JSON.stringify(`v${SPOOF}`) }]);
  for (const args of [
    ['state', 'show', 'media:UUhbHm6C'],
    ['events', 'show', id],
  ]) {
    const { stdout } = await run(args);
    expect(hostileIn(stdout)).toEqual([]);
    expect(stdout.match(/\\u202e/g)?.length).toBeGreaterThan(1);
  }
  const json = JSON.parse((await run(['state', 'show', 'media:UUhbHm6C', '--json'])).stdout);
  expect(json.state).toEqual({ [inColumn(`n${SPOOF}`)]: `v${SPOOF}` });
});

test('is read and not changed, when handlers try runs the handler of a stored event, which tells what it would be', async () => {
  const id = await leave([...POSTS, { name: 'count', value: '41' }]);
  const module = desk().write(
    'handlers.mjs',
    `export const handlers = {
      media_available(event, { state }) {
        state.set('count', (state.get('count') ?? 0) + 1);
        state.delete('title');
      },
    };`,
  );
  const env = { HANDLERS: module };
  const { code, stdout } = await run(['handlers', 'try', id], { env });
  expect(code).toBe(0);
  expect(stdout).toMatch(/\nstate count: would be 42\nstate title: would be deleted\nhandled /);
  const json = JSON.parse((await run(['handlers', 'try', id, '--json'], { env })).stdout);
  expect(json.state).toEqual({ set: { count: 42 }, deleted: ['title'] });
  const composed = ['handlers', 'try', '--kind', 'media_available', '--media', 'UUhbHm6C', '--json'];
  expect(JSON.parse((await run(composed, { env })).stdout).state).toEqual({ set: { count: 1 }, deleted: [] });

  const store = await desk().store();
  expect(await store.state('media:UUhbHm6C')).toEqual([{ name: 'count', value: '41' }, ...POSTS]);
  expect(only(await eventsIn(store, {}, 2))).toMatchObject({ status: 'handled', attempts: 1 });
});

test('does what docs/handlers.md says, when its commands are typed as they stand there', async () => {
  await leave(POSTS);
  const said = commandsOf('handlers.md', 'What `ctx` offers').map((command) =>
    command.replace(/^npx hookkit /, '').split(' '),
  );
  expect(said.map(([, verb]) => verb)).toEqual(['show', 'delete']);
  for (const args of said) expect(await run(args)).toMatchObject({ code: 0 });
  expect(await (await desk().store()).state('media:UUhbHm6C')).toEqual([]);
});
