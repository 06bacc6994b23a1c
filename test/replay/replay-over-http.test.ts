import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { oneKey } from '../../src/replay/receiver-client.ts';
import { replayOverHttp } from '../../src/replay/replay-over-http.ts';
import { recordingSource } from '../../src/replay/sources.ts';
import { type ListeningReceiver, listeningReceiver } from '../support/listening-receiver.ts';
import { mediaName, recordedLine, writeRecording } from '../support/recorded-lines.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const keys = oneKey('a-secret-of-at-least-thirty-two-bytes');

let directory: string;
let receiver: ListeningReceiver | undefined;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(async () => {
  await receiver?.close();
});

async function listen(answer?: Parameters<typeof listeningReceiver>[0]): Promise<ListeningReceiver> {
  receiver = await listeningReceiver(answer);
  return receiver;
}

const mediaOf = ({ taken }: ListeningReceiver) => taken.map(({ body }) => body.media_id);
const timesOf = (taken: ListeningReceiver['taken']) => taken.map(({ body }) => String(body.event_time));

test('keeps the recorded order exactly, when media take turns at random and it is sent one at a time, as new', async () => {
  const media = Array.from({ length: 100 }, (_, number) => (number * number * 7 + (number >> 2)) % 19);
  const lines = media.map((one, number) => recordedLine(number, number * 1000, one));
  const listening = await listen();
  const source = await recordingSource(writeRecording(directory, lines), { isReadTwice: true });
  const { unwanted } = await replayOverHttp(source, { to: new URL(listening.url), keys, asNew: true });
  expect(unwanted).toBe(0);
  expect(mediaOf(listening)).toEqual(media.map(mediaName));
  const times = timesOf(listening.taken).map((time) => Date.parse(time));
  expect(times).toEqual(times.toSorted());
  expect(Math.max(...times)).toBeLessThanOrEqual(Date.now());
});

test('keeps the order within a media, when many are under way at once, and never has two of one', async () => {
  const lines = Array.from({ length: 120 }, (_, number) => recordedLine(number, number * 1000, number % 6));
  const busy = await listen(({ media_id }) => ({ ms: media_id === 'media000' ? 8 : Math.random() * 4 }));
  const source = await recordingSource(writeRecording(directory, lines));
  const { unwanted } = await replayOverHttp(source, { to: new URL(busy.url), keys, concurrency: 8 });
  expect({ unwanted, overlaps: busy.overlaps }).toEqual({ unwanted: 0, overlaps: [] });
  expect(busy.most).toBeGreaterThan(2);
  const byMedia = Map.groupBy(busy.taken, ({ body }) => body.media_id);
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
  const file = writeRecording(directory, [...lines, undated]);
  const listening = await listen();
  const filter = {
    since: Date.UTC(2026, 0, 1) + 1000,
    until: Date.UTC(2026, 0, 1) + 3000,
    kind: ['media_available'],
  };
  await replayOverHttp(await recordingSource(file, { filter }), { to: new URL(listening.url), keys });
  expect(mediaOf(listening)).toEqual(['media001', 'media002']);
});
