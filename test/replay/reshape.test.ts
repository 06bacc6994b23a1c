import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { type RecordedEvent, recordedEvent, type Source, UNTOLD } from '../../src/replay/recorded-event.ts';
import { duplicated, movedToNow, paced, reshaped, shuffled, timesOf } from '../../src/replay/reshape.ts';
import { eventually } from '../support/eventually.ts';
import { present } from '../support/only.ts';
import { verified } from '../support/verified-notification.ts';

interface Moment {
  readonly happened: number;
  readonly received: number;
}

/** Notifications that happened and were received at these times, in milliseconds. */
async function* recordedAt(moments: readonly Moment[]): AsyncGenerator<RecordedEvent> {
  for (const [number, { happened, received }] of moments.entries()) {
    const { body } = verified({ media_id: `media${number}`, at: happened });
    yield recordedEvent({ body, receivedAt: received, webhookId: 'webhook1' }, JSON.parse(body), undefined);
  }
}

async function listOf(items: AsyncIterable<RecordedEvent>): Promise<RecordedEvent[]> {
  const list: RecordedEvent[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const time = fc.integer({ min: 1, max: 10 ** 9 });
const moments = fc.array(fc.record({ happened: time, received: time }), { maxLength: 30 });

test('sends each when its time has come and not before, when paced, at the speed that is asked for', async () => {
  const property = fc.asyncProperty(moments, fc.constantFrom(0.5, 1, 10), async (given, speed) => {
    let now = 500;
    const wait = async (ms: number) => {
      now += ms;
    };
    const sent: number[] = [];
    for await (const _item of paced(recordedAt(given), { speed, now: () => now, wait })) sent.push(now);
    let latest = 500;
    for (const [number, { received }] of given.entries()) {
      latest = Math.max(latest, 500 + (received - (given[0]?.received ?? 0)) / speed);
      expect(sent[number]).toBeCloseTo(latest, 3);
    }
  });
  await fc.assert(property);
});

/** Moved as a replay moves them: read once for the newest, and once more to be sent. */
async function movedTo(now: number, given: readonly Moment[]): Promise<AsyncIterable<RecordedEvent>> {
  const { newest } = present(await timesOf(recordedAt(given), new AbortController().signal));
  return movedToNow(recordedAt(given), { newest, now });
}

function timeOf({ body }: RecordedEvent): number {
  return Date.parse(JSON.parse(body).event_time);
}

const someMoments = fc.array(fc.record({ happened: time, received: time }), { minLength: 1, maxLength: 30 });

test('keeps all gaps to the millisecond and leaves ids alone, when moved to now, with the newest in this second and none later', async () => {
  const nows = fc.integer({ min: 0, max: Date.UTC(2030, 0) });
  const property = fc.asyncProperty(someMoments, nows, async (given, now) => {
    const before = await listOf(recordedAt(given));
    const after = await listOf(await movedTo(now, given));
    const times = after.map(timeOf);
    for (const [number, moved] of times.entries()) {
      expect(moved - (times[0] ?? 0)).toBe((given[number]?.happened ?? 0) - (given[0]?.happened ?? 0));
      expect(after[number]?.id).toBe(before[number]?.id);
    }
    const newest = Math.max(...times);
    expect(newest).toBeLessThanOrEqual(now);
    expect(newest).toBeGreaterThan(now - 1000);
  });
  await fc.assert(property);
});

test('is written in whole seconds as the provider does, when it was, wherever in a second it is moved to', async () => {
  const given = [3000, 9000, 5000].map((happened) => ({ happened, received: happened }));
  const moved = await listOf(await movedTo(Date.UTC(2026, 5, 1) + 789, given));
  expect(moved.map(({ body }) => JSON.parse(body).event_time)).toEqual([
    '2026-05-31T23:59:54+00:00',
    '2026-06-01T00:00:00+00:00',
    '2026-05-31T23:59:56+00:00',
  ]);
});

test('is never in the future, when moved to now, duplicated, shuffled and paced, and copies are of one time', async () => {
  const now = Date.UTC(2026, 5, 1) + 400;
  const property = fc.asyncProperty(
    someMoments,
    fc.nat(),
    fc.constantFrom(0.5, 10),
    async (given, seed, speed) => {
      const random = seededRandom(seed);
      let passed = 0;
      const shaped = paced(shuffled(duplicated(await movedTo(now, given), 0.5, random), random), {
        speed,
        now: () => passed,
        wait: async (ms) => {
          passed += ms;
        },
      });
      const bodies = Map.groupBy(await listOf(shaped), ({ id }) => id);
      for (const copies of bodies.values()) expect(new Set(copies.map(({ body }) => body)).size).toBe(1);
      const times = [...bodies.values()].flat().map(timeOf);
      expect(Math.max(...times)).toBeLessThanOrEqual(now);
      expect(Math.max(...times)).toBeGreaterThan(now - 1000);
    },
  );
  await fc.assert(property);
});

test('stays as it is, when moved to now without an event time', async () => {
  const body = '{"event":"media_renamed"}';
  const item = recordedEvent({ body, receivedAt: 1, webhookId: 'w' }, JSON.parse(body), undefined);
  async function* items() {
    yield item;
  }
  expect(await timesOf(items(), new AbortController().signal)).toBeUndefined();
  expect(await listOf(movedToNow(items(), { newest: 5, now: 10_000 }))).toEqual([item]);
});

test('is refused with what to leave out, when moving to now would take the oldest to before the year 0', async () => {
  const at = (text: string) => ({ happened: Date.parse(text), received: 0 });
  const read = (given: readonly Moment[]) =>
    reshaped(
      { read: () => recordedAt(given), async close() {} } as Source,
      { asNew: true },
      { unreplayable: UNTOLD, clock: systemClock, signal: new AbortController().signal },
    );
  const far = [at('2026-11-25T00:00:00Z'), at('9999-12-31T00:00:00Z')];
  await expect(read(far)).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringMatching(
      /from 2026-11-25 to 9999-12-31, .* before the year 0: leave out the newest/,
    ),
  });
  const near = await listOf(await read([at('1000-01-01T00:00:00Z'), at('2026-11-25T00:00:00Z')]));
  expect(near).toHaveLength(2);
});

test('is new again, when it was moved to now twice, one time right after the other', async () => {
  const given = [5, 1500, 2999].map((ms) => ({ happened: Date.UTC(2026, 0, 1) + ms, received: ms }));
  const source = { read: () => recordedAt(given), async close() {} } as Source;
  for (const start of [0, 1, 999, 12_345]) {
    const clock = new VirtualClock(Date.UTC(2026, 5, 1) + start);
    const moved = async () => {
      const options = { unreplayable: UNTOLD, clock, signal: new AbortController().signal };
      const all = listOf(await reshaped(source, { asNew: true }, options));
      await eventually('it waits for the next second', () => clock.nextDue() !== undefined);
      await clock.advance((clock.nextDue() ?? 0) - clock.now());
      return (await all).map(({ body }) => body);
    };
    const [first, second] = [await moved(), await moved()];
    expect(new Set([...first, ...second]).size).toBe(2 * given.length);
  }
});

test('has each once at the times of the recorded order, when shuffled', async () => {
  const property = fc.asyncProperty(moments, fc.nat(), async (given, seed) => {
    const before = await listOf(recordedAt(given));
    const after = await listOf(shuffled(recordedAt(given), seededRandom(seed)));
    expect(after.map(({ receivedAt }) => receivedAt)).toEqual(before.map(({ receivedAt }) => receivedAt));
    expect(after.map(({ id }) => id).sort()).toEqual(before.map(({ id }) => id).sort());
  });
  await fc.assert(property);
});

test.each([
  [0, 30],
  [1, 60],
])('sends each once or twice in order, when duplicated with probability %d', async (probability, count) => {
  const given = Array.from({ length: 30 }, (_, number) => ({ happened: number + 1, received: number }));
  const ids = (await listOf(duplicated(recordedAt(given), probability, seededRandom(1)))).map(({ id }) => id);
  expect(ids).toHaveLength(count);
  expect([...new Set(ids)]).toEqual((await listOf(recordedAt(given))).map(({ id }) => id));
});
