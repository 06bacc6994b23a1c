import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { toLine } from '../../../src/replay/recording-lines.ts';
import { scripted } from '../../provider/support.ts';
import { deskForEachTest, ndjson } from '../../support/event-desk.ts';

type Ending = Parameters<typeof toLine>[0]['expect'];

const desk = deskForEachTest();

const HANDLERS = join(import.meta.dirname, '../handlers/pages.ts');
/** The same handlers, with subscribers. */
const SUBSCRIBED = join(import.meta.dirname, '../handlers/subscribed.ts');
const NOON = Date.UTC(2026, 10, 19, 12);

function payload(kind: string, hour: number): string {
  const [event, channel_id = 'c1'] = kind.split(' of ');
  const ids = /^channel/.test(kind) ? { channel_id } : { media_id: 'm1' };
  const event_time = new Date(NOON + hour * 3_600_000).toISOString();
  const track = event === 'track_created' ? { track_id: 't1' } : {};
  return JSON.stringify({ event, ...ids, ...track, webhook_id: 'w1', site_id: 's1', event_time });
}

/** Writes a recording of these kinds, an hour apart, which expects these ends. */
function recording(kinds: readonly string[], ends: readonly Ending[] = [], others = {}): string {
  const lines = kinds.map((kind, hour) => {
    const recorded = {
      body: payload(kind, hour),
      receivedAt: NOON + hour * 3_600_000,
      webhookId: 'w1',
      others,
    };
    return `${toLine({ ...recorded, expect: ends[hour] })}\n`;
  });
  return desk().write('day.ndjson', lines.join(''));
}

const check = (file: string, args: readonly string[] = [], CHANGED = '') =>
  desk().events(['check', file, ...args], { env: { HANDLERS, CHANGED } });

const MEDIA = ['media_created', 'media_available', 'media_updated', 'media_deleted'];

/** How they end. */
const ENDS: readonly Ending[] = [
  { status: 'handled', attempts: 2 },
  { status: 'handled', attempts: 1 },
  { status: 'skipped', attempts: 1, reason: 'not for us' },
  { status: 'handled', attempts: 1, state: { page: '/old' } },
];

test('tells each event that ended otherwise, what was expected, what came and what was before, with 1, and as JUnit or JSON', async () => {
  const file = desk().write('a\uFFFE\uFFFF<day.ndjson', readFileSync(recording(MEDIA, ENDS)));
  const junit = ['--junit', desk().path('junit.xml')];
  const { code, stdout, stderr } = await check(file, junit, 'attempts reason state');
  expect(code).toBe(1);
  const told = (event: string, expected: string, came: string) =>
    `${event} of media:m1\n  expected  ${expected}\n  came      ${came}\n`;
  expect(stdout.split(/^(?=line)/m)).toEqual(
    [
      told('line 1: media_created', '{"attempts":2}', '{"attempts":1}'),
      told('line 3: media_updated', '{"reason":"not for us"}', '{"reason":"not now"}'),
      told('line 4: media_deleted', '{"state":{"page":"/old"}}', '{"state":{"page":"/new"}}'),
    ].map((text) => expect.stringContaining(text)),
  );
  expect(stdout).toMatch(
    /\/new"\}\}\n {2}before {4}line 1: .* handled\n.*line 2: .* handled\n.*line 3: .* skipped: not now\n/,
  );
  expect(stderr).toContain('3 of 4 ended otherwise than expected\n');
  const xml = readFileSync(junit[1] ?? '', 'utf8');
  expect(xml).toContain('<testsuite name="a\\ufffe\\uffff&#60;day.ndjson" tests="4" failures="3">');
  expect(xml).toContain('name="line 4: media_deleted of media:m1"><failure');
  expect(xml).toContain('came      {&#34;state&#34;:{&#34;page&#34;:&#34;/new&#34;');
  const { differences } = JSON.parse((await check(file, ['--json'], 'status')).stdout);
  const came = { status: 'dead', reason: 'no such page' };
  expect(differences).toMatchObject([{ place: 'line 4', expected: { status: 'handled' }, came }]);
});

test('writes what comes, when told to update, and keeps the other members and what somebody has taken away', async () => {
  const file = recording(MEDIA, [], { note: 'an upload' });
  await check(file, ['--update']);
  const updated = ENDS.map((expect) => ({ v: 1, note: 'an upload', expect }));
  expect(ndjson(readFileSync(file, 'utf8'))).toMatchObject(updated);
  expect(await check(file)).toMatchObject({ code: 0, stdout: '' });
  desk().write('day.ndjson', readFileSync(file, 'utf8').replace('"attempts":2', '"reason":"odd"'));
  const { stdout, stderr } = await check(file, ['--update'], 'status');
  expect(stdout.match(/^line \d/gm)).toEqual(['line 1', 'line 4']);
  expect(stderr).toContain('2 expectations changed, 0 new');
  const [first, , , last] = ndjson(readFileSync(file, 'utf8'));
  expect([first.expect, last.expect.status]).toEqual([{ status: 'handled' }, 'dead']);
});

test('asks for --update, when no line expects anything, and for a file, when a HAR file has no room for it', async () => {
  expect(await check(recording(MEDIA))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--update'),
  });
  expect((await check(desk().write('none.ndjson', '\n'), ['--update'])).stderr).toContain('has no event\n');
  const request = { method: 'POST', postData: { text: payload('media_updated', 0) } };
  const dateless = { request: { method: 'POST', postData: { text: '{"event":"media_updated"}' } } };
  const entries = [{ startedDateTime: new Date(NOON).toISOString(), request }, dateless];
  const har = desk().write('day.har', JSON.stringify({ log: { entries } }, null, 2));
  expect(await check(har, ['--update'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--out') });
  const made = await check(har, ['--update', '--out', desk().path('made.ndjson')]);
  expect([made.code, made.stderr]).toEqual([0, expect.stringMatching(/^entry 2: .*\nleft out: 1 entry of /)]);
  expect(made.stderr).toMatch(/\n1 event: 1 skipped\n.*: 0 expectations changed, 1 new\n/);
  expect(desk().lines('made.ndjson')).toMatchObject([{ webhook_id: 'w1', expect: { status: 'skipped' } }]);
});

test('demands the same ends of repeats, another order and crashes, and tells what breaks', async () => {
  const ON_OFF = ['channel_active', 'channel_idle'];
  const boards = recording([...ON_OFF, ...ON_OFF.map((kind) => `${kind} of c2`)]);
  const shuffled = await check(boards, ['--shuffle', '--seed', '4']);
  expect([shuffled.code, shuffled.stdout.match(/^line \d/gm)]).toEqual([1, ['line 1', 'line 3']]);
  expect(shuffled.stderr).toContain('2 of 4 ended otherwise than expected\n');
  expect(shuffled.stdout).toContain(
    'came      {"state":{"is":"channel_active"}}\n  before    line 2: channel_idle handled',
  );
  const board = recording([...ON_OFF, 'track_created']);
  expect(await check(board, ['--duplicate', '1'])).toMatchObject({ code: 0 });
  const { code, stdout, stderr } = await check(board, ['--crash', 'every']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('each point at which the process can die')]);
  expect(stdout).toMatch(/^a crash after claim track_created breaks the check/);
  expect(stdout).toContain(
    'expected  {"status":"handled"}\n  came      {"status":"dead","reason":"it has run before"}',
  );
});

test('keeps an end for each subscriber, and tells whose is missing or is one more', async () => {
  const file = recording(MEDIA);
  const checkWith = (changed = '', ...args: string[]) =>
    desk().events(['check', file, ...args], { env: { HANDLERS: SUBSCRIBED, CHANGED: changed } });
  const made = await checkWith('', '--update');
  expect(made.stderr).toContain('6 events: 5 handled, 1 skipped\n');
  const search = [
    undefined,
    { search: { status: 'handled', attempts: 2 } },
    { search: { status: 'handled', attempts: 1, state: { indexed: 1 } } },
    undefined,
  ];
  const expected = ENDS.map((end, line) => ({ ...end, subscribers: search[line] }));
  const written = desk().lines('day.ndjson');
  expect(written.map(({ expect }) => expect)).toEqual(JSON.parse(JSON.stringify(expected)));
  expect(await checkWith()).toMatchObject({ code: 0, stdout: '' });
  expect(await checkWith('', '--crash', 'every')).toMatchObject({ code: 0 });

  const told = async (changed: string) => {
    const { code, stdout } = await checkWith(changed);
    return [code, ...stdout.split(/^(?=line)/m)];
  };
  const of = (event: string, end: string, came: string) =>
    expect.stringContaining(`${event} of media:m1, subscriber ${end}\n  came      ${came}\n`);
  expect(await told('removed')).toEqual([
    1,
    of('line 2: media_available', 'search\n  expected  {"status":"handled"}', '{"status":"no event"}'),
    of('line 3: media_updated', 'search\n  expected  {"status":"handled"}', '{"status":"no event"}'),
  ]);
  expect(await told('captions')).toEqual([
    1,
    of('line 2: media_available', 'captions\n  expected  {"status":"no event"}', '{"status":"handled"}'),
  ]);
});

/** Checks a recording with handlers that look at the time, wait and never end, beside a system that answers late. */
async function checkByTime(file: string, args: readonly string[]) {
  const { url: SYSTEM_URL } = await scripted((response) => void setTimeout(() => response.end('yes'), 300));
  const env = { HANDLERS: join(import.meta.dirname, '../handlers/by-time.ts'), SYSTEM_URL };
  const { code, stdout } = await desk().events(['check', file, ...args], { env });
  return { code, told: stdout.split(/^(?=line)/m) };
}

test('shows handlers the time of the recording, and has them wait for it, while other systems take real time', async () => {
  const file = recording(['media_created', 'channel_created', 'media_updated']);
  expect(await checkByTime(file, ['--update'])).toMatchObject({ code: 0 });
  const handled = { status: 'handled', attempts: 1 };
  const published = ['2026-11-19T12:05', true];
  expect(ndjson(readFileSync(file, 'utf8')).map((line) => line.expect)).toEqual([
    handled,
    { ...handled, state: { waited: [4000, 8000, 10_000] } },
    { ...handled, state: { published, answer: 'yes' } },
  ]);
  expect(await checkByTime(file, [])).toMatchObject({ code: 0, told: [''] });
});

test('fails the line of each handler that never ends, also in a step, and checks the others', async () => {
  const kinds = ['channel_active', 'channel_idle', 'channel_active', 'channel_created'];
  const ends = kinds.map((): Ending => ({ status: 'handled', subscribers: {} }));
  const file = recording(kinds, [...ends.slice(0, 2), undefined, ...ends.slice(3)]);
  const junit = desk().path('junit.xml');
  const { code, told } = await checkByTime(file, ['--junit', junit]);
  const came = 'came      {"status":"never ended","reason":"its handler still ran after twice its time-out';
  expect([code, told]).toEqual([
    1,
    [
      expect.stringContaining(`1: channel_active of channel:c1\n  expected  {"status":"handled"}\n  ${came}`),
      expect.stringContaining(`2: channel_idle of channel:c1, subscriber search\n`),
      expect.stringContaining(`3: channel_active of channel:c1\n  expected  {}\n  ${came}`),
    ],
  ]);
  expect(told[1]).toContain(came);
  const xml = readFileSync(junit, 'utf8');
  expect(xml).toContain('tests="4" failures="3"');
  expect(xml).toContain('name="line 4: channel_created of channel:c1"></testcase>');
});

test('has reminders and ticks come in the gaps, expects what becomes of reminders, and settles where one comes again and again', async () => {
  const env = { HANDLERS: join(import.meta.dirname, '../handlers/incidents.ts') };
  const kinds = ['channel_idle', 'channel_active', 'channel_idle of polled', 'channel_idle'];
  const file = recording(kinds);
  const run = (args: readonly string[] = [], CHANGED = '') =>
    desk().events(['check', file, ...args], { env: { ...env, CHANGED } });
  const { code, stderr } = await run(['--update']);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const ended = ndjson(readFileSync(file, 'utf8')).map(({ expect }) => expect);
  expect(ended.map(({ reminders }) => reminders)).toEqual([
    undefined,
    undefined,
    { 'poll handled': 60, 'poll set': 1, 'close handled': 1 },
    { 'close handled': 1, 'close set': 1 },
  ]);
  expect(await run()).toMatchObject({ code: 0, stdout: '' });
  expect(await run()).toMatchObject({ code: 0, stdout: '' });
  const changed = await run([], 'close');
  expect(changed.stdout).toContain('"close dead: Error: the CMS is down":1');
});
