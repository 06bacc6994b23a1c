import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseLine, toLine } from '../../src/replay/recording-lines.ts';
import { jsonObject } from '../support/json-values.ts';

const recorded = fc.record({
  body: jsonObject.map((value) => JSON.stringify(value)),
  receivedAt: fc.integer({ min: 0, max: Date.UTC(9999, 0) }),
  webhookId: fc.string(),
});

test('returns the written event, when it reads a line of this version, without exception', () => {
  fc.assert(
    fc.property(recorded, (given) => {
      const read = parseLine(toLine(given));
      expect(read).toEqual({ recorded: given, value: JSON.parse(given.body) });
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

test('tells what is wrong, when a good line is damaged in one place, or reads another good line', () => {
  const damaged = fc.tuple(recorded, fc.nat(), fc.string({ maxLength: 3 }), fc.nat(20));
  fc.assert(
    fc.property(damaged, ([given, at, inserted, removed]) => {
      const line = toLine(given);
      const place = at % line.length;
      const read = parseLine(line.slice(0, place) + inserted + line.slice(place + removed));
      if (read.problem === undefined) expect(JSON.parse(read.recorded.body)).toEqual(read.value);
      else expect(read.problem).not.toBe('');
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
  ['has members of its own', { ...good, note: 'mine' }],
  ['has a time with an offset', { ...good, received_at: '2026-11-19T13:00:00+01:00' }],
])('takes a line, when it %s', (_case, line) => {
  expect(parseLine(JSON.stringify(line))).toMatchObject({
    recorded: { body: good.body, receivedAt: Date.UTC(2026, 10, 19, 12), webhookId: 'webhook1' },
  });
});

test.each([
  ['is of another version', { ...good, v: 2 }, 'of recording version 2, and this program knows 1'],
  ['has no body', { ...good, body: undefined }, '"body" must be the text of the notification'],
  ['has a body that is no text', { ...good, body: {} }, '"body" must be the text of the notification'],
  ['has a body that is no JSON', { ...good, body: '{' }, 'its body is not a JSON object in UTF-8'],
  ['has a body that is a list', { ...good, body: '[]' }, 'its body is not a JSON object in UTF-8'],
  ['has no time', { ...good, received_at: 'now' }, '"received_at" must be an ISO 8601 date and time'],
  ['has no webhook', { ...good, webhook_id: 1 }, '"webhook_id" must be a text'],
])('refuses a line, when it %s, with what is wrong', (_case, line, problem) => {
  expect(parseLine(JSON.stringify(line))).toEqual({ problem });
});
