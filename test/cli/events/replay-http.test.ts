import { afterEach, expect, jest, test } from '@jest/globals';
import { deskForEachTest, SECRET } from '../../support/event-desk.ts';
import { type ListeningReceiver, listeningReceiver } from '../../support/listening-receiver.ts';
import { recordedLine } from '../../support/recorded-lines.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

let receiver: ListeningReceiver | undefined;
afterEach(async () => {
  await receiver?.close();
  receiver = undefined;
});

async function listen(answer?: Parameters<typeof listeningReceiver>[0]): Promise<ListeningReceiver> {
  receiver = await listeningReceiver(answer);
  return receiver;
}

test('keeps the gaps between event times, when stdin is sent as new', async () => {
  const { url, taken } = await listen();
  const stdin = [0, 7, 2].map((number) => recordedLine(number)).join('\n');
  const args = ['replay', '--to', url, '--from', '-', '--as-new'];
  const env = { WEBHOOK_SECRET: SECRET };
  expect(await desk().events(args, { env, stdin })).toMatchObject({ code: 0 });
  const times = taken.map(({ body }) => Date.parse(String(body.event_time)));
  expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 7000, 2000]);
  expect(Math.max(...times)).toBeGreaterThan(Date.UTC(2026, 0, 2));
});

test('tells broken lines with their numbers, when a recording has some, sends the rest and ends with 1', async () => {
  const { url, taken } = await listen();
  const lines = [recordedLine(0), 'garbage', '{"v":2}', '', recordedLine(4), recordedLine(5).slice(0, 50)];
  const args = ['replay', '--to', url, '--from', '-'];
  const run = await desk().events(args, { stdin: lines.join('\n'), env: { WEBHOOK_SECRET: SECRET } });
  expect(run.code).toBe(1);
  expect(run.stderr.match(/^line \d/gm)).toEqual(['line 2', 'line 3', 'line 6']);
  expect(run.stdout).toMatch(/^broken line +3$/m);
  expect(run.stdout).toMatch(/^accepted +2$/m);
  expect(taken.map(({ body }) => body.media_id)).toEqual(['media000', 'media004']);
});

test('sends nothing, when no secret is known for the webhook, and ends with 1', async () => {
  const { url, taken } = await listen();
  const file = desk().write('r.ndjson', recordedLine(0));
  const run = await desk().events(['replay', '--to', url, '--from', file, '--json']);
  expect(run.code).toBe(1);
  expect(JSON.parse(run.stdout)).toEqual({ 'no secret': 1 });
  expect(taken).toEqual([]);
});
