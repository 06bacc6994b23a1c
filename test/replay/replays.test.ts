import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { oneKey } from '../../src/replay/receiver-client.ts';
import { replayOverHttp } from '../../src/replay/replay-over-http.ts';
import { checkEnds } from '../../src/replay/replay-to-handlers.ts';
import { type Reshaping, reshaped } from '../../src/replay/reshape.ts';
import { type RecordedEvent, recordedEvent, recordingSource, type Source } from '../../src/replay/sources.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { mediaName, recordedLine, writeRecording } from '../support/recorded-lines.ts';
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

describe('over HTTP', () => {
  const keys = oneKey('a-secret-of-at-least-thirty-two-bytes');

  const directory = directoryForEachTest();
  const timesOf = (received: Receiver['received']) => received.map(({ body }) => String(body.event_time));

  test('keeps the recorded order exactly, when media take turns at random and it is sent one at a time, as new', async () => {
    const media = Array.from({ length: 100 }, (_, number) => (number * number * 7 + (number >> 2)) % 19);
    const lines = media.map((one, number) => recordedLine(number, number * 1000, one));
    const listening = await startReceiver();
    const source = await recordingSource(writeRecording(directory(), lines), { isReadTwice: true });
    const { unwanted } = await replayOverHttp(source, { to: new URL(listening.url), keys, asNew: true });
    expect(unwanted).toBe(0);
    expect(listening.media()).toEqual(media.map(mediaName));
    // In whole seconds, as the provider writes them.
    for (const time of timesOf(listening.received)) expect(time).toMatch(/^[\d-]+T[\d:]+\+00:00$/);
    const times = timesOf(listening.received).map((time) => Date.parse(time));
    expect(times).toEqual(times.toSorted());
    expect(Math.max(...times)).toBeLessThanOrEqual(Date.now());
  });

  test('keeps the order within a media, when many are under way at once, and never has two of one', async () => {
    const lines = Array.from({ length: 120 }, (_, number) => recordedLine(number, number * 1000, number % 6));
    const busy = await startReceiver((_number, { media_id }) => ({
      ms: media_id === 'media000' ? 8 : Math.random() * 4,
    }));
    const source = await recordingSource(writeRecording(directory(), lines));
    const { unwanted } = await replayOverHttp(source, { to: new URL(busy.url), keys, concurrency: 8 });
    expect({ unwanted, overlaps: busy.overlaps }).toEqual({ unwanted: 0, overlaps: [] });
    expect(busy.most).toBeGreaterThan(2);
    const byMedia = Map.groupBy(busy.received, ({ body }) => body.media_id);
    expect(byMedia.size).toBe(6);
    for (const taken of byMedia.values()) {
      expect(timesOf(taken)).toEqual([...timesOf(taken)].sort());
      expect(taken).toHaveLength(20);
    }
  });

  test('sends only what the filter takes, and nothing without a time, when a recording is filtered', async () => {
    const body = JSON.stringify({ event: 'media_available', media_id: 'undated', event_time: 'soon' });
    const undated = JSON.stringify({ ...JSON.parse(recordedLine(1)), body });
    const lines = [0, 1, 2, 3].map((number) => recordedLine(number));
    const file = writeRecording(directory(), [...lines, undated]);
    const listening = await startReceiver();
    const filter = {
      since: Date.UTC(2026, 0, 1) + 1000,
      until: Date.UTC(2026, 0, 1) + 3000,
      kind: ['media_available'],
    };
    await replayOverHttp(await recordingSource(file, { filter }), { to: new URL(listening.url), keys });
    expect(listening.media()).toEqual(['media001', 'media002']);
  });
});

test.each([
  [{ handled: 2 }, {}, undefined],
  [{ handled: 1, dead: 1 }, {}, '1 event ended as dead (--fail-on none allows it)'],
  [{ handled: 1, dead: 1 }, { failOn: 'none' }, undefined],
  [{ dead: 2 }, { expect: 'dead' }, undefined],
  [{ handled: 1, skipped: 2 }, { expect: 'handled' }, '2 events did not end as handled'],
  [{ pending: 1, running: 1 }, { failOn: 'none' }, '2 events had not ended in time: raise --timeout'],
] as const)('judges ends of %j, when %j is expected, with %j', (counts, expectation, problem) => {
  const ends = new Map(Object.entries(counts)) as Parameters<typeof checkEnds>[0];
  const check = () => checkEnds(ends, expectation);
  if (problem === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: 'REPLAY_FAILED', message: problem }));
});
