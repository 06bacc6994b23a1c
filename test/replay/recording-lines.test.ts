import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { linesOf, parseLine, toLine } from '../../src/replay/recording-lines.ts';
import { jsonObject } from '../support/json-values.ts';

const recorded = fc.record({
  body: jsonObject.map((value) => JSON.stringify(value)),
  receivedAt: fc.integer({ min: 0, max: Date.UTC(9999, 0) }),
  webhookId: fc.string(),
});

test('returns the written event, when it reads a line of this version, without exception', () => {
  fc.assert(
    fc.property(recorded, (given) => {
      expect(parseLine(toLine(given))).toEqual({ recorded: given, value: JSON.parse(given.body) });
    }),
  );
});

test('tells what is wrong, when a line is anything else, and never throws', () => {
  const anything = fc.oneof(
    fc.string(),
    fc.json(),
    jsonObject.map((value) => JSON.stringify(value)),
  );
  fc.assert(
    fc.property(anything, (text) => {
      expect(parseLine(text)).toEqual({ problem: expect.any(String) });
    }),
  );
});

const good = {
  body: '{"event":"media_created"}',
  received_at: '2026-11-19T12:00:00Z',
  webhook_id: 'webhook1',
};

test.each([
  ['has no version', good],
  ['is of version 1', { v: 1, ...good }],
  ['has a time with an offset', { ...good, received_at: '2026-11-19T13:00:00+01:00' }],
])('takes a line, when it %s', (_case, line) => {
  expect(parseLine(JSON.stringify(line))).toMatchObject({
    recorded: { body: good.body, receivedAt: Date.UTC(2026, 10, 19, 12), webhookId: 'webhook1' },
  });
});

test.each([
  ['is of another version', { ...good, v: 2 }, 'of recording version 2, and this program knows 1'],
  ['has no body', { ...good, body: undefined }, '"body" must be the text of the notification'],
  ['has a body that is no JSON', { ...good, body: '{' }, 'its body is not a JSON object in UTF-8'],
  ['has no time', { ...good, received_at: 'now' }, '"received_at" must be an ISO 8601 date and time'],
  ['has no webhook', { ...good, webhook_id: 1 }, '"webhook_id" must be a text'],
])('refuses a line, when it %s, with what is wrong', (_case, line, problem) => {
  expect(parseLine(JSON.stringify(line))).toEqual({ problem });
});

async function* inPieces(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test.each([1, 1000])(
  'gives the lines of a file with their numbers, when it comes in pieces of %i bytes',
  async (size) => {
    const broken = Buffer.from([0xff, 0xfe, 0x0a]);
    const bytes = Buffer.concat([Buffer.from('one\n\n'), broken, Buffer.from('fünf\r\n  \nlast 🎬')]);
    expect(await Array.fromAsync(linesOf(inPieces(bytes, size)))).toEqual([
      { number: 1, text: 'one' },
      { number: 3, text: undefined },
      { number: 4, text: 'fünf' },
      { number: 6, text: 'last 🎬' },
    ]);
  },
);
