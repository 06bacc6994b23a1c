import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '../../src/base/seeded-random.ts';
import {
  defineHandlers,
  fail,
  type HandlerContext,
  type Outcome,
  retry,
  skip,
} from '../../src/dispatch/handler.ts';
import { backoffMs } from '../../src/dispatch/settlement.ts';
import { BASE_MS, CAP_MS, eachWithStage, MAX_ATTEMPTS, SEED } from '../support/dispatch-stage.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';

const stage = eachWithStage(sqliteFixture());

/** Longer than all attempts of one event may take. */
const ALL_ATTEMPTS_MS = MAX_ATTEMPTS * CAP_MS;

/** A handler that does in its first run what the first function does, and so on; later runs do what the last does. */
function scripted(...script: readonly (() => Outcome | void | Promise<Outcome | void>)[]) {
  let runs = 0;
  const media_available = (_event: unknown, _ctx: HandlerContext) =>
    script[Math.min(runs++, script.length - 1)]?.();
  return { handlers: defineHandlers({ media_available }), runs: () => runs };
}

function down(): never {
  throw new Error('the service is down');
}

describe('a handler that fails', () => {
  test('runs again after the backoff, when it throws, each time at the very millisecond', async () => {
    const { clock, store, record, start, pass } = stage();
    const id = await record();
    const { handlers } = scripted(down);
    const startedAt = clock.now();
    await start(handlers);
    await pass(ALL_ATTEMPTS_MS);
    const random = seededRandom(SEED);
    let due = startedAt;
    const expected = Array.from({ length: MAX_ATTEMPTS }, (_, index) => {
      const attempt = { attempt: index + 1, startedAt: due, outcome: 'error' };
      due += backoffMs(index + 1, { baseMs: BASE_MS, capMs: CAP_MS, random });
      return attempt;
    });
    expect(await store.attempts(id)).toMatchObject(expected);
  });

  test('is given up, when its last attempt failed, as dead with the error and where it was thrown', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    const { handlers, runs } = scripted(down);
    await start(handlers);
    await pass(ALL_ATTEMPTS_MS);
    expect(runs()).toBe(MAX_ATTEMPTS);
    expect(await event(id)).toMatchObject({
      status: 'dead',
      attempts: MAX_ATTEMPTS,
      nextAttemptAt: undefined,
      lastError: expect.stringMatching(/^Error: the service is down\n.*retries\.test/s),
    });
    await pass(ALL_ATTEMPTS_MS);
    expect(runs()).toBe(MAX_ATTEMPTS);
  });

  test.each([
    ['throws', down],
    ['rejects', () => Promise.reject(new Error('the service is down'))],
  ])('ends as handled, when it %s at first and then succeeds', async (_, trouble) => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    await start(scripted(trouble, trouble, () => {}).handlers);
    await pass(ALL_ATTEMPTS_MS);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 3, lastError: undefined });
    expect((await store.attempts(id)).map(({ outcome }) => outcome)).toEqual(['error', 'error', 'handled']);
  });

  test('does not hold up the newer events of its media, when it waits for its next attempt', async () => {
    const { record, start, event } = stage();
    const older = await record({ at: EVENT_TIME });
    const newer = await record({ at: EVENT_TIME + 1000 });
    await start(scripted(down, () => {}).handlers);
    expect(await event(older)).toMatchObject({ status: 'pending', attempts: 1 });
    expect(await event(newer)).toMatchObject({ status: 'handled' });
  });

  test('does not stop the others, when one of many fails for good', async () => {
    const { store, record, start } = stage();
    for (let number = 0; number < 40; number++) await record({ media_id: `media-${number}` });
    await start({ media_available: (event) => (event.media_id === 'media-3' ? down() : undefined) });
    expect(await store.count({ status: 'handled' })).toBe(39);
  });

  test('has all attempts again, when it is replayed after it was given up', async () => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    const { handlers, runs } = scripted(down);
    await start(handlers);
    await pass(ALL_ATTEMPTS_MS);
    await store.replay({ status: 'dead' });
    await pass(ALL_ATTEMPTS_MS);
    expect(runs()).toBe(2 * MAX_ATTEMPTS);
    expect(await event(id)).toMatchObject({ status: 'dead', attempts: MAX_ATTEMPTS, replays: 1 });
  });
});

describe('a handler that decides', () => {
  test('ends its event as skipped, when it skips, in one run and with the reason', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    const { handlers, runs } = scripted(() => skip('not our site'));
    await start(handlers);
    await pass(CAP_MS);
    expect(runs()).toBe(1);
    expect(await event(id)).toMatchObject({ status: 'skipped', lastError: 'not our site' });
  });

  test('gives its event up, when it fails it, in one run though attempts are left', async () => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    const { handlers, runs } = scripted(() => fail('no such media'));
    await start(handlers);
    await pass(CAP_MS);
    expect(runs()).toBe(1);
    expect(await event(id)).toMatchObject({ status: 'dead', attempts: 1, lastError: 'no such media' });
    expect(await store.attempts(id)).toMatchObject([{ outcome: 'failed', error: 'no such media' }]);
  });

  test('runs again at the time it says, when it asks for a retry, be it beyond the cap', async () => {
    const { clock, store, record, start, pass } = stage();
    const id = await record();
    const startedAt = clock.now();
    const after = 2 * CAP_MS + 1;
    await start(
      scripted(
        () => retry({ after, reason: 'not yet' }),
        () => {},
      ).handlers,
    );
    await pass(after);
    expect(await store.attempts(id)).toMatchObject([
      { startedAt, outcome: 'retry', error: 'not yet' },
      { startedAt: startedAt + after, outcome: 'handled' },
    ]);
  });

  test('runs again at once, when it asks for a retry without delay', async () => {
    const { record, start, event } = stage();
    const id = await record();
    await start(
      scripted(
        () => retry({ after: 0, reason: 'again' }),
        () => {},
      ).handlers,
    );
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
  });

  test('runs again after the backoff, when it asks for a retry and names no time', async () => {
    const { clock, record, start, event } = stage();
    const id = await record();
    await start(scripted(() => retry({ reason: 'not yet' })).handlers);
    const wait = backoffMs(1, { baseMs: BASE_MS, capMs: CAP_MS, random: seededRandom(SEED) });
    expect(await event(id)).toMatchObject({ status: 'pending', nextAttemptAt: clock.now() + wait });
  });

  test('is given up, when it asks for a retry in every attempt, with its last reason', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    const { handlers, runs } = scripted(() => retry({ after: 10, reason: 'never ready' }));
    await start(handlers);
    await pass(10 * MAX_ATTEMPTS);
    expect(runs()).toBe(MAX_ATTEMPTS);
    expect(await event(id)).toMatchObject({ status: 'dead', lastError: 'never ready' });
  });
});
