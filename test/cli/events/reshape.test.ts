import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Outgoing, outgoing } from '../../../src/cli/events/sending/outgoing.ts';
import { asNew, duplicated, paced, shuffled } from '../../../src/cli/events/sending/reshape.ts';
import { seededRandom } from '../../../src/seeded-random.ts';
import { verified } from '../../support/verified-notification.ts';

interface Moment {
  readonly happened: number;
  readonly received: number;
}

/** Notifications that happened and were received at these times, in milliseconds. */
async function* recordedAt(moments: readonly Moment[]): AsyncGenerator<Outgoing> {
  for (const [number, { happened, received }] of moments.entries()) {
    const { body } = verified({ media_id: `media${number}`, at: happened });
    yield outgoing({ body, receivedAt: received, webhookId: 'webhook1' }, JSON.parse(body), undefined);
  }
}

async function listOf(items: AsyncIterable<Outgoing>): Promise<Outgoing[]> {
  const list: Outgoing[] = [];
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

test('keeps all gaps to the millisecond and leaves ids alone, when moved to now, with the first in the next second', async () => {
  const now = Date.UTC(2026, 5, 1) + 400;
  const property = fc.asyncProperty(moments, async (given) => {
    const before = await listOf(recordedAt(given));
    const after = await listOf(asNew(recordedAt(given), now));
    const times = after.map(({ body }) => Date.parse(JSON.parse(body).event_time));
    for (const [number, moved] of times.entries()) {
      expect(moved - (times[0] ?? 0)).toBe((given[number]?.happened ?? 0) - (given[0]?.happened ?? 0));
      expect(after[number]?.id).toBe(before[number]?.id);
    }
    if (times[0] !== undefined) expect(Math.floor(times[0] / 1000)).toBe(Math.floor(now / 1000) + 1);
  });
  await fc.assert(property);
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
