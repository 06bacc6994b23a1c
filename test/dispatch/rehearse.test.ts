import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { fail, type Handler, retry, skip } from '../../src/dispatch/handler.ts';
import { rehearse } from '../../src/dispatch/rehearse.ts';
import type { NotificationOf } from '../../src/notification/payload.ts';
import { eventId } from '../../src/store/event-id.ts';
import { logLines } from '../support/log-lines.ts';
import { verified } from '../support/verified-notification.ts';

type MediaHandler = Handler<NotificationOf<'media_available'>>;
const notification = verified();
const event = {
  ...notification,
  id: eventId(notification.eventTime, notification.digest),
  receivedAt: Date.UTC(2026, 2, 1),
  starts: 2,
  replays: 1,
  late: true,
  state: [{ name: 'count', value: '1' }],
};

interface Given {
  readonly stored?: Readonly<Record<string, string | null>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

function tried(handler: MediaHandler, given: Given = {}) {
  const { stored, timeoutMs = 60_000, signal = new AbortController().signal } = given;
  return rehearse(event, {
    handlers: { media_available: handler },
    log: logLines().log,
    timeoutMs,
    statuses: undefined,
    app: undefined,
    signal,
    stored: stored && {
      step: async (_, name) => (Object.hasOwn(stored, name) ? { result: stored[name] ?? null } : undefined),
    },
  });
}

test.each<[string, MediaHandler, object]>([
  ['nothing', () => {}, { type: 'handled' }],
  ['skip', () => skip('not ours'), { type: 'skip', reason: 'not ours' }],
  ['retry', () => retry({ after: 5, reason: 'soon' }), { type: 'retry', reason: 'soon', after: 5 }],
  ['fail', () => fail('never'), { type: 'fail', reason: 'never' }],
  [
    'an error',
    () => Promise.reject(new Error('broken')),
    { type: 'error', reason: expect.stringContaining('Error: broken') },
  ],
])('tells how it ended, when the handler ends with %s', async (_, handler, run) => {
  expect(await tried(handler)).toEqual({ run, ms: expect.any(Number), steps: [], state: [] });
});

test('tells the handler of its attempt, of the replay, and that it is late', async () => {
  let told: unknown;
  await tried((_, { id, attempt, replay, late, receivedAt }) => {
    told = { id, attempt, replay, late, receivedAt };
  });
  expect(told).toEqual({
    id: event.id,
    attempt: 2,
    replay: true,
    late: true,
    receivedAt: new Date('2026-03-01T00:00:00.000Z'),
  });
});

test('runs a step once and keeps its result for the rest of the run, also where it is nothing', async () => {
  const calls: string[] = [];
  const results: unknown[] = [];
  const { steps } = await tried(async (_, { once }) => {
    for (const name of ['a', 'b', 'a', 'b']) {
      results.push(
        await once(name, () => {
          calls.push(name);
          return name === 'a' ? { a: 1 } : undefined;
        }),
      );
    }
  });
  expect(calls).toEqual(['a', 'b']);
  expect(results).toEqual([{ a: 1 }, undefined, { a: 1 }, undefined]);
  expect(steps).toEqual([
    { name: 'a', ran: true, times: 2 },
    { name: 'b', ran: true, times: 2 },
  ]);
});

test('gives the stored result of a step that was done before, and runs the others', async () => {
  const results: unknown[] = [];
  const { run, steps } = await tried(
    async (_, { once }) => {
      results.push(
        await once('done', () => 'anew'),
        await once('empty', () => 'anew'),
        await once('open', () => 'anew'),
      );
    },
    { stored: { done: '"before"', empty: null } },
  );
  expect(run).toEqual({ type: 'handled' });
  expect(results).toEqual(['before', undefined, 'anew']);
  expect(steps).toEqual([
    { name: 'done', ran: false, times: 1 },
    { name: 'empty', ran: false, times: 1 },
    { name: 'open', ran: true, times: 1 },
  ]);
});

test('ends the handler, when its time is over', async () => {
  const { run } = await tried((_, { signal }) => sleep(60_000, undefined, { signal }), { timeoutMs: 20 });
  expect(run).toEqual({ type: 'timeout', reason: 'the handler took longer than 20 ms' });
});

test('aborts the handler, when the user aborts the trial', async () => {
  const enough = new AbortController();
  const { run } = await tried(
    (_, { signal }) => {
      setImmediate(() => enough.abort(new Error('enough')));
      return sleep(60_000, undefined, { signal });
    },
    { signal: enough.signal },
  );
  expect(run).toMatchObject({ type: 'error' });
});

test('tells what the handler would change of the state, when it read what is stored, and nothing where it fails', async () => {
  const change: MediaHandler = (_, { state }) => {
    state.set('count', (state.get<number>('count') ?? 0) + 1);
    state.set('new', { at: new Date(0) });
  };
  expect((await tried(change)).state).toEqual([
    { name: 'count', value: '2' },
    { name: 'new', value: '{"at":"1970-01-01T00:00:00.000Z"}' },
  ]);
  expect((await tried((_, { state }) => state.delete('count'))).state).toEqual([
    { name: 'count', value: null },
  ]);
  const fails: MediaHandler = (event, ctx) => {
    change(event, ctx);
    throw new Error('broken');
  };
  expect((await tried(fails)).state).toEqual([]);
});
