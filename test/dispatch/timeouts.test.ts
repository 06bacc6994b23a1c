import { describe, expect, test } from '@jest/globals';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { CAP_MS, eachWithStage, MAX_ATTEMPTS, TIMEOUT_MS } from '../support/dispatch-stage.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';

const stage = eachWithStage(sqliteFixture());

/** Longer than a handler may take to end once its signal is aborted. */
const LEFT_BEHIND_MS = 10_000;

/** A handler that waits until its signal is aborted, as one does that passes it on to fetch. */
const obedient = defineHandlers({
  media_available: (_event, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
});

describe('a handler that takes too long', () => {
  test('has its signal aborted, when its time is over, not a millisecond before and with the reason', async () => {
    const { record, start, pass } = stage();
    await record();
    const held = new HeldHandler();
    await start({ media_available: held.handle });
    await pass(TIMEOUT_MS - 1);
    expect(held.last.ctx.signal.aborted).toBe(false);
    await pass(1);
    expect(held.last.ctx.signal.aborted).toBe(true);
    expect(held.last.ctx.signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  test('is tried again after the backoff, when it ends on its signal, with the time-out as its error', async () => {
    const { clock, store, record, start, pass, event } = stage();
    const id = await record();
    const startedAt = clock.now();
    await start(obedient);
    await pass(TIMEOUT_MS);
    expect(await store.attempts(id)).toMatchObject([
      {
        attempt: 1,
        startedAt,
        durationMs: TIMEOUT_MS,
        outcome: 'timeout',
        error: expect.stringContaining(`${TIMEOUT_MS} ms`),
      },
    ]);
    const { status, nextAttemptAt } = await event(id);
    expect(status).toBe('pending');
    expect(nextAttemptAt).toBeGreaterThanOrEqual(clock.now());
    await pass(CAP_MS);
    expect(await event(id)).toMatchObject({ status: 'running', attempts: 2 });
  });

  test('is given up, when every attempt took too long', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    await start(obedient);
    await pass(MAX_ATTEMPTS * (TIMEOUT_MS + CAP_MS));
    expect(await event(id)).toMatchObject({ status: 'dead', attempts: MAX_ATTEMPTS });
  });

  test('is left behind and tried again, when it ignores its signal, and says so in the error', async () => {
    const { store, record, start, pass } = stage();
    const id = await record();
    const held = new HeldHandler();
    await start({ media_available: held.handle });
    await pass(TIMEOUT_MS + LEFT_BEHIND_MS + CAP_MS);
    const [first] = await store.attempts(id);
    expect(first).toMatchObject({ outcome: 'timeout', error: expect.stringContaining('ctx.signal') });
    expect(first?.durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS);
    expect(held.runs).toHaveLength(2);
  });

  test('lets others of its media run again, when it was left behind', async () => {
    const { record, start, pass, event } = stage();
    await record();
    const held = new HeldHandler();
    await start({ media_available: held.handle, media_updated() {} });
    const next = await record({ event: 'media_updated' });
    await pass(TIMEOUT_MS - 1);
    expect(await event(next)).toMatchObject({ status: 'pending', attempts: 0 });
    await pass(1 + LEFT_BEHIND_MS);
    expect(await event(next)).toMatchObject({ status: 'handled' });
  });

  test('changes nothing, when it ends long after it was left behind, whatever its result', async () => {
    const { record, start, pass, quiet, event } = stage();
    const ids = [await record({ media_id: 'a' }), await record({ media_id: 'b' })];
    const held = new HeldHandler();
    await start(
      { media_available: held.handle },
      { retry: { maxAttempts: 1, baseMs: 1, capMs: 1, random: () => 0 } },
    );
    await pass(TIMEOUT_MS + LEFT_BEHIND_MS);
    const [first, second] = held.runs;
    first?.end();
    second?.fail(new Error('much later'));
    await quiet();
    for (const id of ids) {
      expect(await event(id)).toMatchObject({
        status: 'dead',
        lastError: expect.stringContaining('longer than'),
      });
    }
  });

  test('counts as timed out, when it returns in time after its signal was aborted', async () => {
    const { store, record, start, pass, quiet, event } = stage();
    const id = await record();
    const held = new HeldHandler();
    await start({ media_available: held.handle });
    await pass(TIMEOUT_MS);
    held.last.end();
    await quiet();
    expect(await event(id)).toMatchObject({ status: 'pending', attempts: 1 });
    expect(await store.attempts(id)).toMatchObject([{ outcome: 'timeout' }]);
  });
});
