import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import {
  defineHandlers,
  fail,
  type Handlers,
  type Outcome,
  retry,
  skip,
} from '../../src/dispatch/handler.ts';
import { type Run, runHandler } from '../../src/dispatch/run-handler.ts';
import { KINDS, kindNames } from '../../src/notification/kinds.ts';
import type { EventId } from '../../src/store/event-id.ts';
import type { Claim } from '../../src/store/event-store.ts';
import { logLines } from '../support/log-lines.ts';
import { EVENT_TIME, verified, verifiedBody } from '../support/verified-notification.ts';

const noSteps = { step: async () => undefined, holds: async () => true, saveStep: async () => undefined };

function claimOf(notification = verified(), given: Partial<Claim> = {}): Claim {
  return {
    ...notification,
    id: 'event-1' as EventId,
    digest: '',
    receivedAt: EVENT_TIME,
    deliveries: 1,
    lastDeliveryAt: EVENT_TIME,
    status: 'running',
    starts: 1,
    attempts: 1,
    replays: 0,
    nextAttemptAt: undefined,
    lastError: undefined,
    handledAt: undefined,
    place: 1,
    startedAt: EVENT_TIME,
    hasMore: false,
    late: false,
    state: [],
    ...given,
  };
}

function run(handlers: Handlers, claim = claimOf(), clock = new VirtualClock()): Promise<Run> {
  const { log } = logLines();
  return runHandler(claim, new AbortController(), { handlers, store: noSteps, clock, log, timeoutMs: 1000 });
}

describe('the handler', () => {
  test.each(kindNames)('for %s runs, when its kind comes, with the payload as received', async (kind) => {
    const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, `a ${name}`]));
    const members = {
      event: kind,
      webhook_id: 'w',
      site_id: 's',
      event_time: '2025-12-31T00:00:00+00:00',
      ...ids,
    };
    const seen: unknown[] = [];
    const handlers = { [kind]: (event: unknown) => void seen.push(event) };
    expect(await run(handlers, claimOf(verifiedBody({ ...members, extra: { deep: [1] } })))).toEqual({
      type: 'handled',
    });
    expect(seen).toEqual([{ ...members, extra: { deep: [1] } }]);
  });

  test.each([skip('not for us'), retry({ reason: 'not yet', after: 5 }), fail('never')])(
    'decides, when it returns %j, what becomes of the event',
    async (outcome) => {
      expect(await run(defineHandlers({ media_available: () => outcome }))).toEqual(outcome);
      expect(await run(defineHandlers({ media_available: async () => outcome }))).toEqual(outcome);
    },
  );

  test.each([true, null, 0, 'done', {}, { type: 'handled' }, []])(
    'has failed, when it returns %j, with an error that says what to return',
    async (value) => {
      const handler = () => value as unknown as Outcome;
      expect(await run({ media_available: handler })).toEqual({
        type: 'error',
        reason: expect.stringContaining('skip(), retry() or fail()'),
      });
    },
  );

  test('has failed, when it throws, with the place where it did', async () => {
    const failed = await run({
      media_available() {
        throw new RangeError('too much');
      },
    });
    expect(failed).toEqual({
      type: 'error',
      reason: expect.stringMatching(/RangeError: too much\n.*run-handler\.test/s),
    });
  });

  test.each(['text', undefined, null, 42])(
    'has failed, when it rejects with %j, which is no Error',
    async (thrown) => {
      expect(await run({ media_available: () => Promise.reject(thrown) })).toEqual({
        type: 'error',
        reason: String(thrown),
      });
    },
  );

  test('has failed with a bounded text, when its error is enormous', async () => {
    const failed = await run({ media_available: () => Promise.reject(new Error('x'.repeat(1_000_000))) });
    expect('reason' in failed && failed.reason.length).toBeLessThanOrEqual(10_000);
  });

  test('leaves no timer, when it ended in time', async () => {
    const clock = new VirtualClock();
    await run({ media_available() {} }, claimOf(), clock);
    expect(clock.nextDue()).toBeUndefined();
  });
});

describe('an event without a handler', () => {
  test('is skipped, when its kind is known, with the kind', async () => {
    expect(await run({})).toEqual({ type: 'skip', reason: 'no handler for media_available' });
  });

  test('is not given to unknown, when its kind is known', async () => {
    const handlers = { unknown: () => fail('not for unknown') };
    expect(await run(handlers)).toMatchObject({ type: 'skip' });
  });

  test.each(['media_exploded', 'constructor', '__proto__', 'toString', 'unknown', ''])(
    'is skipped, when its kind is %j, which is not in the list, with the kind',
    async (event) => {
      expect(await run({}, claimOf(verified({ event })))).toEqual({
        type: 'skip',
        reason: `unknown kind "${event}"`,
      });
    },
  );

  test('goes to unknown, when there is one and the kind is not in the list, with the payload as received', async () => {
    const notification = verifiedBody({ event: 'media_exploded', at: { any: 'shape' } });
    const seen: unknown[] = [];
    const handlers = defineHandlers({ unknown: (event) => void seen.push(event) });
    expect(await run(handlers, claimOf(notification))).toEqual({ type: 'handled' });
    expect(seen).toEqual([{ event: 'media_exploded', at: { any: 'shape' } }]);
  });
});

describe('an event with an invalid payload', () => {
  test.each([
    ['media_id', verified({ media_id: undefined })],
    ['media_id', verified({ media_id: 7 })],
    ['site_id', verified({ site_id: '' })],
    ['event_time', verified({ event_time: 'yesterday' })],
    ['track_id', verified({ event: 'track_created' })],
  ])(
    'is dead, when %s is missing or wrong, with that member, and its handler does not run',
    async (member, given) => {
      const handler = () => fail('it ran');
      const ended = await run(
        { media_available: handler, track_created: handler, unknown: handler },
        claimOf(given),
      );
      expect(ended).toEqual({ type: 'dead', reason: expect.stringMatching(`^invalid payload: .*${member}`) });
    },
  );

  test('is tried again, when the database has no body for it at the moment', async () => {
    const ended = await run({ media_available: () => fail('it ran') }, claimOf({ ...verified(), body: '' }));
    expect(ended).toEqual({ type: 'error', reason: expect.stringContaining('its body is missing') });
  });

  test.each(['not json', '[]', '{"event":"media_available","event":"media_available"}'])(
    'is dead, when its stored text is %j, which this version does not read, and the run does not reject',
    async (body) => {
      const ended = run({ media_available() {} }, claimOf({ ...verified(), body }));
      await expect(ended).resolves.toEqual({
        type: 'dead',
        reason: expect.stringMatching(/^invalid payload: /),
      });
    },
  );
});
