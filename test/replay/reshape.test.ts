import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Reshaping, reshaped } from '../../src/replay/reshape.ts';
import { type RecordedEvent, recordedEvent, type Source } from '../../src/replay/sources.ts';
import { verified } from '../support/verified-notification.ts';

interface Moment {
  readonly happened: number;
  readonly received: number;
}

/** A source of notifications that happened and were received at these times, in milliseconds. */
function recordedAt(moments: readonly Moment[]): Source {
  return {
    async *read() {
      for (const [number, { happened, received }] of moments.entries()) {
        const { body } = verified({ media_id: `media${number}`, at: happened });
        yield recordedEvent({ body, receivedAt: received, webhookId: 'webhook1' }, JSON.parse(body));
      }
    },
  };
}

interface Sent {
  readonly event: RecordedEvent;
  readonly at: number;
}

/** A clock whose time passes only where somebody waits for it. */
function clockAt(start: number) {
  let time = start;
  return {
    now: () => time,
    monotonic: () => time,
    after(ms: number, fn: () => unknown) {
      time += ms;
      queueMicrotask(fn);
      return () => {};
    },
  };
}

async function sentOf(source: Source, reshaping: Reshaping, clock = clockAt(500)): Promise<Sent[]> {
  const { signal } = new AbortController();
  const sent: Sent[] = [];
  for await (const event of reshaped(source, reshaping, { clock, signal }))
    sent.push({ event, at: clock.now() });
  return sent;
}

const idsOf = (sent: readonly Sent[]) => sent.map(({ event }) => event.id);
const timeOf = ({ event }: Sent) => Date.parse(JSON.parse(event.body).event_time);

const time = fc.integer({ min: 1, max: 10 ** 9 });
const moments = fc.array(fc.record({ happened: time, received: time }), { maxLength: 30 });
const someMoments = fc.array(fc.record({ happened: time, received: time }), { minLength: 1, maxLength: 30 });

test('sends each when its time has come and not before, when paced, at the speed that is asked for', async () => {
  const property = fc.asyncProperty(moments, fc.constantFrom(0.5, 1, 10), async (given, speed) => {
    const sent = await sentOf(recordedAt(given), { speed });
    let latest = 500;
    for (const [number, { received }] of given.entries()) {
      latest = Math.max(latest, 500 + (received - (given[0]?.received ?? 0)) / speed);
      expect(sent[number]?.at).toBeCloseTo(latest, 3);
    }
  });
  await fc.assert(property);
});

test('keeps all gaps and ids, when sent as new, with the newest in this second and none later', async () => {
  const nows = fc.integer({ min: 0, max: Date.UTC(2030, 0) });
  const property = fc.asyncProperty(someMoments, nows, async (given, now) => {
    const before = await sentOf(recordedAt(given), {});
    const after = await sentOf(recordedAt(given), { asNew: true }, clockAt(now));
    const times = after.map(timeOf);
    for (const [number, moved] of times.entries())
      expect(moved - (times[0] ?? 0)).toBe((given[number]?.happened ?? 0) - (given[0]?.happened ?? 0));
    expect(idsOf(after)).toEqual(idsOf(before));
    const newest = Math.max(...times);
    expect(newest).toBeLessThanOrEqual(now);
    expect(newest).toBeGreaterThan(now - 1000);
  });
  await fc.assert(property);
});

test('is written in whole seconds as the provider does, when it was, wherever in a second it is moved to', async () => {
  const given = [3000, 9000, 5000].map((happened) => ({ happened, received: happened }));
  const moved = await sentOf(recordedAt(given), { asNew: true }, clockAt(Date.UTC(2026, 5, 1) + 789));
  expect(moved.map(({ event }) => JSON.parse(event.body).event_time)).toEqual([
    '2026-05-31T23:59:54+00:00',
    '2026-06-01T00:00:00+00:00',
    '2026-05-31T23:59:56+00:00',
  ]);
});

test('stays as it is, when sent as new without an event time', async () => {
  const body = '{"event":"media_renamed"}';
  const event = recordedEvent({ body, receivedAt: 1, webhookId: 'w' }, JSON.parse(body));
  const source: Source = {
    async *read() {
      yield event;
    },
  };
  expect(await sentOf(source, { asNew: true })).toEqual([{ event, at: 500 }]);
});

test('has each once at the times of the recorded order, when shuffled', async () => {
  const property = fc.asyncProperty(moments, fc.nat(), async (given, seed) => {
    const source = recordedAt(given);
    const [before, after] = [await sentOf(source, {}), await sentOf(source, { shuffle: true, seed })];
    const slotsOf = (sent: readonly Sent[]) => sent.map(({ event }) => event.receivedAt);
    expect(slotsOf(after)).toEqual(slotsOf(before));
    expect(idsOf(after).sort()).toEqual(idsOf(before).sort());
  });
  await fc.assert(property);
});

test.each([
  [0, 30],
  [1, 60],
])('sends each once or twice in order, when duplicated with probability %d', async (duplicate, count) => {
  const source = recordedAt(Array.from({ length: 30 }, (_, n) => ({ happened: n + 1, received: n })));
  const ids = idsOf(await sentOf(source, { duplicate, seed: 1 }));
  expect(ids).toHaveLength(count);
  expect([...new Set(ids)]).toEqual(idsOf(await sentOf(source, {})));
});
