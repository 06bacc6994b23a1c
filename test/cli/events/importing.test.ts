import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { eventually } from '../../support/eventually.ts';
import { startCli } from '../../support/run-cli.ts';
import { verified, verifiedBody } from '../../support/verified-notification.ts';

jest.setTimeout(60_000);

const desk = deskForEachTest();
const HANDLERS = fileURLToPath(new URL('../handlers/changing.ts', import.meta.url));
const payload = (media_id: string) => verified({ media_id }).body;
const recorded = (body: string) =>
  JSON.stringify({ body, received_at: '2026-01-01T00:00:00Z', webhook_id: 'elsewhere' });

/** What a receiver takes, and what it or a handler does not. */
const LINES = [
  recorded(payload('recorded')),
  payload('plain'),
  recorded(verified({ media_id: 'long', more: 'x'.repeat(70_000) }).body),
  verified({ media_id: '' }).body,
  verifiedBody({ event: 'media_renamed', media_id: 'new', event_time: '2026-01-01T00:00:00Z' }).body,
  '{"event":',
];

test('an import records payloads that nobody has signed, names what it leaves out, and records nothing twice', async () => {
  const store = await desk().store();
  await store.queue.record(verified({ media_id: 'came' }));
  const file = desk().write('old.ndjson', [...LINES, payload('came')].join('\n'));
  const imported = await desk().events(['import', file]);
  expect(imported).toMatchObject({ code: 1, stdout: '3 events imported, 1 already recorded, 3 left out\n' });
  expect(imported.stderr.split('\n')).toEqual([
    'line 3: a receiver refuses this with 413 (it has 70139 bytes, and BODY_LIMIT is 65536)',
    expect.stringMatching(/^line 4: media_id: must be a text of 1 to 200 characters/),
    'line 6: not valid JSON',
    'hookkit: left out: 3 entries',
    '',
  ]);
  const events = await eventsIn(store);
  expect(events.map(({ resource, origin, deliveries }) => [resource, origin, deliveries]).toSorted()).toEqual(
    [
      ['media:came', 'notification', 2],
      ['media:new', 'import', 1],
      ['media:plain', 'import', 1],
      ['media:recorded', 'import', 1],
    ],
  );
  const again = await desk().events(['import', '-', '--json'], { stdin: LINES.slice(0, 2).join('\n') });
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(again.stdout)).toEqual({ imported: 0, duplicates: 2, left_out: 0 });
});

test('an import that Ctrl-C ends has recorded what it says, and the next one records the rest', async () => {
  const store = await desk().store();
  const bodies = Array.from({ length: 10_000 }, (_, n) => payload(`m${n}`));
  const file = desk().write('many.ndjson', bodies.join('\n'));
  const importing = startCli(['events', 'import', file], { env: desk().env });
  await eventually('it has begun', async () => (await store.queue.count({})) > 0);
  importing.kill('SIGINT');
  const { code, stdout, stderr } = await importing.ended;
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('run it again') });
  const first = Number(/^\d+/.exec(stdout));
  expect(await store.queue.count({})).toBe(first);
  expect(first).toBeLessThan(10_000);
  const rest = JSON.parse((await desk().events(['import', file, '--json'])).stdout);
  expect(rest).toEqual({ imported: 10_000 - first, duplicates: first, left_out: 0 });
});

test('a recording says what was imported or reconciled, redacted too, and a check hands that to the handler', async () => {
  const store = await desk().store();
  for (const origin of ['notification', 'import', 'reconciled'] as const)
    await store.queue.record({ ...verified({ media_id: origin }), origin });
  await desk().events(['export', '--out', 'all.ndjson']);
  expect(
    desk()
      .lines('all.ndjson')
      .map(({ origin }) => origin),
  ).toEqual([undefined, 'import', 'reconciled']);
  await desk().events(['export', '--redact', '--out', 'redacted.ndjson']);
  expect(desk().lines('redacted.ndjson')[1].origin).toBe('import');
  const file = desk().path('all.ndjson');
  expect(await desk().events(['check', file, '--update'], { env: { HANDLERS } })).toMatchObject({ code: 0 });
  const checked = desk()
    .lines('all.ndjson')
    .map(({ origin, expect: end }) => [origin, end.state.origin]);
  expect(checked).toEqual([
    [undefined, 'notification'],
    ['import', 'import'],
    ['reconciled', 'reconciled'],
  ]);
});
