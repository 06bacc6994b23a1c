import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { redactor, writeWholeFile } from '../../src/replay/export-recording.ts';
import { parseLine, readRecording, toLine } from '../../src/replay/recording-lines.ts';
import { jsonObject } from '../support/json-values.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const recorded = fc.record({
  body: jsonObject.map((value) => JSON.stringify(value)),
  receivedAt: fc.integer({ min: 0, max: Date.UTC(9999, 0) }),
  webhookId: fc.string(),
  expect: fc.constantFrom(undefined, { status: 'skipped', reason: 'not for us' } as const),
  others: fc.constantFrom({}, { cursor: 'c7', note: 'the first of the day' }),
});

test('returns the written event, when it reads a line of this version, without exception', () => {
  fc.assert(
    fc.property(recorded, (given) => {
      expect(parseLine(toLine(given))).toEqual({ recorded: given, value: JSON.parse(given.body) });
    }),
  );
});

const good = {
  body: '{"event":"media_created"}',
  received_at: '2026-11-19T12:00:00Z',
  webhook_id: 'webhook1',
};

test.each([
  ['is of another version', { ...good, v: 2 }, '"v": version 2, and this program knows 1'],
  ['has no body', { ...good, body: undefined }, '"body": it must be the text of the notification'],
  ['has a body that is no JSON', { ...good, body: '{' }, 'its body is not a JSON object in UTF-8'],
  ['has no time', { ...good, received_at: 'now' }, '"received_at": it must be an ISO 8601 date and time'],
  ['has no webhook', { ...good, webhook_id: 1 }, '"webhook_id": it must be a text'],
  [
    'expects what cannot be',
    { ...good, expect: { attempts: 'two' } },
    expect.stringMatching(/^"expect.attempts": /),
  ],
  ['expects an unknown member', { ...good, expect: { statsu: 'dead' } }, expect.stringContaining('"statsu"')],
])('refuses a line, when it %s, with what is wrong', (_case, line, problem) => {
  expect(parseLine(JSON.stringify(line))).toEqual({ problem });
});

const NO_TIME = 'it has neither a time of receipt nor an "event_time"';

test('takes a payload that is a line by itself, with its own time and webhook, and none without a time', () => {
  const payload =
    '{ "event": "media_created", "webhook_id": "w", "event_time": "2026-11-19T12:00:00+00:00" }';
  const at = { receivedAt: Date.UTC(2026, 10, 19, 12), webhookId: 'w' };
  expect(parseLine(payload)).toMatchObject({ recorded: { body: payload, ...at } });
  expect(parseLine('{"event":"media_created"}')).toEqual({ problem: NO_TIME });
});

const payload = (event: string, hour = 12) =>
  JSON.stringify({ event, event_time: `2026-11-19T${hour}:00:00Z` });

async function readAll(file: string | Buffer, size = 1000) {
  const bytes = Buffer.from(file);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, number) =>
    bytes.subarray(number * size, (number + 1) * size),
  );
  const read = await Array.fromAsync(readRecording(Readable.from(pieces)));
  return read.map((line) => [line.place, line.problem ?? line.recorded.body]);
}

test.each([1, 1000])('tells lines by their numbers, in pieces of %i bytes', async (size) => {
  const broken = Buffer.from([0xff, 0xfe, 0x0a]);
  const rest = Buffer.from(`${payload('fünf')}\r\n  \n${payload('last 🎬')}`);
  const bytes = Buffer.concat([Buffer.from(`${payload('one')}\n\n`), broken, rest]);
  expect(await readAll(bytes, size)).toEqual([
    ['line 1', payload('one')],
    ['line 3', 'not valid UTF-8'],
    ['line 4', payload('fünf')],
    ['line 6', payload('last 🎬')],
  ]);
});

test.each([0, 2])('takes each POST of JSON in a HAR file, when it is indented by %i', async (indent) => {
  const body = '{"event":"media_created","media_id":"fünf"}';
  const startedDateTime = '2026-11-19T13:00:00.123456+01:00';
  const entry = (method: string, postData?: unknown) => ({ startedDateTime, request: { method, postData } });
  const entries = [
    entry('GET', null),
    entry('POST', { mimeType: 'application/json', text: body }),
    entry('POST', { mimeType: 'application/x-www-form-urlencoded', text: 'a=b', params: [] }),
    entry('POST', { encoding: 'base64', text: Buffer.from(body).toString('base64') }),
    entry('POST', { mimeType: 'application/json; charset=utf-8', text: body.slice(0, 20) }),
    entry('POST', { mimeType: 'application/json', text: '[{"page":"/"}]' }),
  ];
  const undated = [payload('one', 11), body].map((text) => ({
    request: { method: 'POST', postData: { text } },
  }));
  const all = [...entries, { ...undated[0], startedDateTime: 'today' }, undated[1], null];
  const har = JSON.stringify({ log: { version: '1.2', creator: {}, entries: all } }, null, indent);
  expect(await readAll(`\uFEFF${har}\r\n`)).toEqual([
    ['entry 5', 'its body is not a JSON object in UTF-8'],
    ['entry 8', NO_TIME],
    ['entry 9', 'not a recorded notification'],
    ['entry 7', payload('one', 11)],
    ['entry 2', body],
    ['entry 4', body],
  ]);
});

test('takes lists and indented payloads, when a file has no line for each of them', async () => {
  const all = [payload('fünf [{'), payload('two'), payload('three')];
  const values = all.map((text) => JSON.parse(text));
  const [one, two] = values.map((value) => JSON.stringify(value, null, 2));
  const recorded = JSON.stringify({ ...good, body: all[2] });
  const files: [string, (string | undefined)[]][] = [
    [JSON.stringify(values), all],
    [`[\n${all[0]},\n${two},\n${recorded}\n]\n`, all],
    [`${one}\r\n\r\n${two}\n${recorded}`, all],
    [`{\n  "event":\n${two}\n`, ['not valid JSON', all[1]]],
    ['[7]', ['not a recorded notification']],
  ];
  for (const [file, expected] of files)
    expect(await readAll(file)).toEqual(expected.map((text, index) => [`entry ${index + 1}`, text]));
});

const KEY = 'a-key-for-redacting-in-tests';
const SHAPE = /^[A-Za-z0-9]{8}$/;
const redact = redactor(Buffer.from(KEY));

function redacted(body: object, by = redact) {
  const text = by({ body: JSON.stringify(body), receivedAt: 7, webhookId: 'webhook1' });
  return { ...text, value: JSON.parse(text.body) };
}

test('gives every id the same other one of 8 letters and digits, when the key is the same', () => {
  const media = (id: string, by?: typeof redact) => redacted({ media_id: id }, by).value.media_id;
  const again = redactor(Buffer.from(KEY));
  const other = redactor(Buffer.from('another-key-of-some-length'));
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (id) => {
      expect(media(id)).toMatch(SHAPE);
      expect(media(id, again)).toBe(media(id));
      expect(media(id, other)).not.toBe(media(id));
    }),
  );
  expect(new Set(Array.from({ length: 5000 }, (_, number) => media(`media${number}`))).size).toBe(5000);
});

test.each([
  ['a kind that is not known', { event: 'media_renamed', playlist_id: 'p' }, { event: 'media_renamed' }],
  ['a kind that is a sentence', { event: 'Our film is out' }, { event: 'redacted' }],
  ['an empty id', { event: 'media_created', media_id: '' }, { media_id: '' }],
])('keeps the kind of problem, when the body has %s', (_case, body, expected) => {
  expect(redacted(body).value).toMatchObject(expected);
});

test('leaves nothing but kind, time and other ids, when a body holds anything at all', () => {
  fc.assert(
    fc.property(jsonObject, (body) => {
      for (const [name, value] of Object.entries(redacted(body).value)) {
        if (name === 'event' || name === 'event_time') expect(typeof value).toBe('string');
        else
          expect([name, value]).toEqual([
            expect.stringMatching(/_id$/),
            expect.stringMatching(/^([A-Za-z0-9]{8})?$/),
          ]);
      }
    }),
  );
});

test.each([
  ['{"v":1,"body":"{}","received_at":"2026-01-01T00:00:00Z","webhook_id":"w"}\n', true],
  ['\n{"event":"media_available"}\n', true],
  ['{"cursor":"1-1"}\n', true],
  ['{\n  "name": "an-app"\n}\n', false],
  ['SQLite format 3\0', false],
])('a file is replaced, or refused and left as it is, when it has %j: %j', async (text, isReplaced) => {
  const file = join(await temporaryDirectory(), 'file');
  writeFileSync(file, text);
  const written = writeWholeFile(file, (write) => write('{"new":1}\n'));
  if (isReplaced) await written;
  else await expect(written).rejects.toThrow('exists and is no recording: name another file');
  expect(readFileSync(file, 'utf8')).toBe(isReplaced ? '{"new":1}\n' : text);
});
