import { readdirSync } from 'node:fs';
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

function mediaOf({ taken }: ListeningReceiver): unknown[] {
  return taken.map(({ body }) => body.media_id);
}

test.each([
  ['a file', 'r.ndjson'],
  ['stdin', '-'],
])(
  'keeps the gaps between event times and moves the newest to now, when %s is sent as new',
  async (_what, from) => {
    const { url, taken } = await listen();
    const recording = [0, 7, 2].map((number) => recordedLine(number)).join('\n');
    const file = from === '-' ? '-' : desk().write(from, recording);
    const args = ['replay', '--to', url, '--from', file, '--as-new'];
    const env = { WEBHOOK_SECRET: SECRET, TMPDIR: desk().directory };
    const { code } = await desk().events(args, { env, stdin: recording });
    expect(code).toBe(0);
    const times = taken.map(({ body }) => Date.parse(String(body.event_time)));
    expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 7000, 2000]);
    const age = Date.now() - Math.max(...times);
    expect(age).toBeGreaterThanOrEqual(0);
    expect(age).toBeLessThan(30_000);
    expect(String(taken[0]?.body.event_time)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
    expect(readdirSync(desk().directory)).toEqual(from === '-' ? [] : [from]);
  },
);

test('tells broken lines with their numbers, when a recording has some, sends the rest and ends with 1', async () => {
  const { url, taken } = await listen();
  const lines = [recordedLine(0), 'garbage', '{"v":2}', '', recordedLine(4), recordedLine(5).slice(0, 50)];
  const args = ['replay', '--to', url, '--from', '-', '--report', desk().path('report.ndjson')];
  const run = await desk().events(args, { stdin: lines.join('\n'), env: { WEBHOOK_SECRET: SECRET } });
  expect(run.code).toBe(1);
  expect(run.stderr).toBe(
    'line 2: not valid JSON\nline 3: of recording version 2, and this program knows 1\nline 6: not valid JSON\n' +
      'hookkit: 3 notifications were not answered with 200\n',
  );
  expect(run.stdout).toMatch(/^broken line +3$/m);
  expect(run.stdout).toMatch(/^accepted +2$/m);
  expect(mediaOf({ taken } as ListeningReceiver)).toEqual(['media000', 'media004']);
  expect(desk().lines('report.ndjson')).toHaveLength(2);
});

test('counts each kind of answer, when a receiver refuses some, and ends with 1', async () => {
  const { url } = await listen(({ media_id }) => ({ status: media_id === 'media001' ? 503 : 200 }));
  const file = desk().write('r.ndjson', [0, 1, 2].map((number) => recordedLine(number)).join('\n'));
  const args = ['replay', '--to', url, '--from', file, '--json'];
  const run = await desk().events(args, { env: { WEBHOOK_SECRET: SECRET } });
  expect(run).toMatchObject({ code: 1, stdout: '{"503":1,"accepted":2}\n' });
  expect(run.stderr).toMatch(/^503: event \S+\nhookkit: 1 notifications were not answered with 200\n$/);
});

test('sends nothing, when no secret is known for the webhook, and ends with 1', async () => {
  const { url, taken } = await listen();
  const file = desk().write('r.ndjson', recordedLine(0));
  const run = await desk().events(['replay', '--to', url, '--from', file, '--json']);
  expect(run).toMatchObject({ code: 1, stdout: '{"no secret":1}\n' });
  expect(taken).toEqual([]);
});

test('sends nothing, when run dry, and shows how many and the first few', async () => {
  const file = desk().write(
    'r.ndjson',
    Array.from({ length: 9 }, (_, number) => recordedLine(number)).join('\n'),
  );
  const { stdout } = await desk().events([
    'replay',
    '--to',
    'http://127.0.0.1:1/',
    '--from',
    file,
    '--dry-run',
  ]);
  expect(stdout).toMatch(/^9 notifications would be sent, the first of them:\n/);
  expect(stdout.match(/media:media00\d/g)).toHaveLength(5);
});
