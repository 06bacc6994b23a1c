import { expect, test } from '@jest/globals';
import type { StateChange } from '../../src/store/event-store.ts';
import { claims, HANDLED } from '../support/claiming.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { eventsIn } from '../support/events-in.ts';
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
  const { code, stdout } = await run(['state', 'show', 'media:UUhbHm6C']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^posts +\["a","b"\]\ntitle +"New"\n$/m);
  expect(JSON.parse((await run(['state', 'show', 'media:UUhbHm6C', '--json'])).stdout)).toEqual({
    resource: 'media:UUhbHm6C',
    state: { posts: ['a', 'b'], title: 'New' },
  });
});

test('is deleted as a whole, when asked for, and that of others stays', async () => {
  await leave(POSTS);
  await leave(POSTS, 'other');
  const { code, stdout } = await run(['state', 'delete', 'media:UUhbHm6C']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'media:UUhbHm6C: 2 names deleted\n' });
  const store = await desk().store();
  expect(await store.state('media:UUhbHm6C')).toEqual([]);
  expect(await store.state('media:other')).toHaveLength(2);
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
  const json = JSON.parse((await run(['handlers', 'try', id, '--json'], { env })).stdout);
  expect(json.state).toEqual({ set: { count: 42 }, deleted: ['title'] });
  const store = await desk().store();
  expect(await store.state('media:UUhbHm6C')).toEqual([{ name: 'count', value: '41' }, ...POSTS]);
  expect(only(await eventsIn(store, {}, 2))).toMatchObject({ status: 'handled', attempts: 1 });
});
