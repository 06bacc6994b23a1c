import { describe, expect, test } from '@jest/globals';
import { parseConfig } from '../../src/config.ts';
import { defineHandlers, type HandlerContext, type Handlers } from '../../src/dispatch/handler.ts';
import { endingOf, fail, pauseMs, retry, skip } from '../../src/dispatch/outcome.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';
import { eachWithStage, LEASE_MS } from './stage.ts';

const stage = eachWithStage();
const DEFAULTS = { RETRY_MAX_ATTEMPTS: '40', RETRY_CAP_MS: '3600000' };
const POLICY = { config: parseConfig({}), random: () => 0.5 };
const HOUR_MS = 3_600_000;
const DAYS_30 = 30 * 24 * HOUR_MS;
const NOW = Date.UTC(2026, 0, 31);

/** Goes from one attempt to the next, until the event ends or so much time has passed. */
async function untilEnd(id: string, ms: number): Promise<void> {
  const { clock, event, pass } = stage();
  const end = clock.now() + ms;
  for (let { nextAttemptAt } = await event(id); nextAttemptAt !== undefined && nextAttemptAt < end; ) {
    clock.leap(nextAttemptAt);
    await pass(3000); // longer than the pause between two polls
    ({ nextAttemptAt } = await event(id));
  }
}

const failing = defineHandlers({ media_available: () => Promise.reject(new Error('the shop is down')) });

test('the pauses between attempts are between half and all of what doubles with each attempt, up to RETRY_CAP_MS', () => {
  for (const drawn of [0, 0.3, 0.999]) {
    const pauses = [1, 2, 3, 12, 13, 1000].map((attempt) =>
      pauseMs(attempt, { ...POLICY, random: () => drawn }),
    );
    const longest = [1000, 2000, 4000, 2_048_000, HOUR_MS, HOUR_MS];
    expect(pauses).toEqual(longest.map((ms) => Math.ceil(ms * (0.5 + drawn / 2))));
  }
});

test('an event whose handler always throws is dead after RETRY_MAX_ATTEMPTS attempts, with its error, and runs no more', async () => {
  const { clock, store, record, start, event } = stage();
  const id = await record();
  const began = clock.now();
  await start(failing, DEFAULTS);
  await untilEnd(id, 20 * HOUR_MS);
  expect(await event(id)).toMatchObject({ status: 'pending' });
  await untilEnd(id, 3 * HOUR_MS);
  expect(await event(id)).toMatchObject({
    status: 'dead',
    attempts: 40,
    lastError: expect.stringContaining('the shop is down'),
  });
  const attempts = await store.queue.attempts({ id });
  expect(attempts.map(({ outcome }) => outcome)).toEqual(Array(40).fill('error'));
  const took = (attempts.at(-1)?.startedAt ?? 0) - began;
  expect(took / HOUR_MS).toBeCloseTo(21, 0);
});

const throwing = () => {
  throw new Error('a trap');
};

test.each<[string, () => unknown]>([
  ['returns an outcome that cannot be read', () => Object.defineProperty({}, 'type', { get: throwing })],
  ['returns a Proxy that cannot be awaited', () => new Proxy({}, { get: throwing })],
  ['throws undefined', () => Promise.reject()],
  [
    'throws an error without a message',
    () => Promise.reject(Object.defineProperty(new Error('x'), 'message', { get: throwing })),
  ],
])('an event whose handler %s ends by its own attempts, and its lane is free', async (_, handler) => {
  const { record, start, pass, event, outcomes } = stage();
  const id = await record();
  const next = await record({ event: 'media_updated', at: EVENT_TIME + 1000 });
  const handlers = { media_available: handler, media_updated() {} } as Handlers;
  await start(handlers, { RETRY_MAX_ATTEMPTS: '2' });
  await pass(10_000);
  expect(await event(id)).toMatchObject({ status: 'dead', attempts: 2 });
  expect(await outcomes(id)).toEqual(['error', 'error']);
  expect(await event(next)).toMatchObject({ status: 'handled' });
});

describe('retry', () => {
  test('lets a handler come back after the time that it says, and uses up no attempt, but counts as a start', async () => {
    const { record, start, pass, event, outcomes } = stage();
    const id = await record();
    const runs: number[] = [];
    await start({
      media_available(_event, ctx) {
        runs.push(ctx.attempt);
        if (runs.length < 20) return retry({ after: 60_000, reason: 'not published yet' });
      },
    });
    await pass(59_000);
    expect(runs).toEqual([1]);
    expect(await event(id)).toMatchObject({
      status: 'pending',
      attempts: 0,
      starts: 1,
      lastError: 'not published yet',
    });
    await pass(20 * 62_000);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1, starts: 20 });
    expect(runs).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect((await outcomes(id)).slice(0, -1)).toEqual(Array(19).fill('retry'));
  });

  test('waits longer with each start, when no time is given', () => {
    const asked = (starts: number) =>
      endingOf(
        { type: 'retry', reason: 'later', after: undefined },
        { starts, attempts: 0, askedAt: NOW },
        POLICY,
        NOW,
      );
    expect([1, 2, 3, 100].map((starts) => asked(starts).afterMs)).toEqual([750, 1500, 3000, 2_700_000]);
  });

  test('ends as dead with a reason that says so, when the event has asked for 30 days', async () => {
    const { record, start, event } = stage();
    const id = await record();
    await start({ media_available: () => retry({ after: 5 * 24 * HOUR_MS, reason: 'no approval' }) });
    await untilEnd(id, DAYS_30 - HOUR_MS);
    expect(await event(id)).toMatchObject({ status: 'pending', attempts: 0 });
    await untilEnd(id, 6 * 24 * HOUR_MS);
    const lastError = 'it has asked for retries for 30 days: no approval';
    expect(await event(id)).toMatchObject({ status: 'dead', attempts: 0, starts: 7, lastError });
  });
});

describe('what a handler sets in ctx.state', () => {
  const setting = (then: (ctx: HandlerContext) => unknown) =>
    defineHandlers({
      media_available(_event, ctx) {
        ctx.state.set('runs', (ctx.state.get<number>('runs') ?? 0) + 1);
        return then(ctx) as undefined;
      },
    });

  test.each([
    ['returns nothing', () => undefined, true],
    ['skips', () => skip('no'), true],
    ['asks to come back', () => retry({ reason: 'not yet' }), true],
    ['throws', () => Promise.reject(new Error('no')), false],
  ])('is stored with its end, when it %s', async (_, then, isStored) => {
    const { store, record, start } = stage();
    await record();
    await start(setting(then), { ...DEFAULTS, RETRY_BASE_MS: String(HOUR_MS) });
    expect(await store.queue.state({ resource: 'media:media-1' })).toEqual(
      isStored ? [{ name: 'runs', value: '1' }] : [],
    );
  });

  test('is there for the next run and the next event of that media alone, until somebody deletes it', async () => {
    const { store, record, start, pass } = stage();
    await record();
    const seen: unknown[] = [];
    await start({
      ...setting((ctx) => (ctx.attempt < 3 ? retry({ after: 1000, reason: 'again' }) : undefined)),
      media_deleted(_event, ctx) {
        seen.push(ctx.state.get('runs'));
        ctx.state.delete('runs');
      },
    });
    await pass(5000);
    await record({ event: 'media_deleted', media_id: 'other', at: EVENT_TIME + 1000 });
    await record({ event: 'media_deleted', at: EVENT_TIME + 1000 });
    await pass(2000);
    expect(seen.toSorted()).toEqual([3, undefined]);
    expect(await store.queue.state({ resource: 'media:media-1' })).toEqual([]);
  });
});

/** An `onDead` that keeps what it is given. */
function telling() {
  const told: unknown[] = [];
  return { told, app: { value: 'the app', onDead: (...given: unknown[]) => void told.push(given) } };
}

test.each<[string, Required<Handlers>['media_available'], Record<string, unknown>, string, number]>([
  ['has failed too often', () => Promise.reject(new Error('no connection')), {}, 'Error: no connection', 5],
  ['fail says so', () => fail('never'), {}, 'never', 1],
  ['a step cannot be stored', (_, ctx) => ctx.once('a', () => 1n), {}, 'step "a" of ctx.once has run', 1],
  ['its payload is not valid', () => {}, { media_id: undefined }, 'invalid payload: media_id', 1],
])('onDead is called once with a dead event, when %s', async (_, handler, members, error, attempts) => {
  const { store, record, start, pass, event } = stage();
  const id = await record(members);
  const { told, app } = telling();
  const statuses: (string | undefined)[] = [];
  const onDead = async (...given: unknown[]) => {
    app.onDead(...given);
    statuses.push((await store.queue.event({ id }))?.status);
  };
  await start({ media_available: handler }, {}, { ...app, onDead });
  await pass(120_000);
  const notification = JSON.parse((await event(id)).body ?? '');
  const dead = { id, error: expect.stringContaining(error), attempts };
  expect({ told, statuses }).toEqual({ told: [[notification, dead, 'the app']], statuses: ['dead'] });
});

test('onDead is called once with an event that was lost to five crashes, by the process that finds it', async () => {
  const { record, start, pass } = stage();
  const id = await record();
  const { told, app } = telling();
  for (let crash = 1; crash <= 5; crash++) {
    const { kill } = await start({ media_available: new HeldHandler().handle }, DEFAULTS, app);
    await pass(2 * LEASE_MS);
    expect(told).toEqual([]);
    kill();
  }
  for (let process = 0; process < 2; process++) await start({}, DEFAULTS, app);
  await pass(2 * LEASE_MS);
  const dead = { id, error: expect.stringMatching(/its process crashed/), attempts: 5 };
  expect(told).toEqual([[expect.objectContaining({ event: 'media_available' }), dead, 'the app']]);
});

test('handling does not wait for onDead, a stop waits no longer than for a handler, and errors are logged', async () => {
  const { clock, record, start, stop, pass, event, logged } = stage();
  const id = await record();
  const next = await record({ event: 'media_updated' });
  const calls = [() => new Promise(() => {}), () => Promise.reject(new Error('no chat'))];
  const failing = { media_available: () => fail('never'), thumbnail_created: () => fail('never') };
  const { dispatcher } = await start(
    { ...failing, media_updated() {} },
    {},
    { onDead: () => calls.shift()?.() },
  );
  expect(await event(next)).toMatchObject({ status: 'handled' });
  const other = await record({ event: 'thumbnail_created', thumbnail_id: 't' });
  dispatcher.came();
  await pass(100);
  const began = clock.now();
  const ended = dispatcher.stop(3000).then(() => clock.now() - began);
  await stop(dispatcher, 3000);
  expect({ calls, waited: await ended }).toEqual({ calls: [], waited: 4500 });
  expect(logged('onDead failed')).toMatchObject([
    { event: other, error: expect.stringMatching(/^Error: no chat/) },
  ]);
  expect(await event(id)).toMatchObject({ status: 'dead' });
});
