import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KINDS, type Kind, kindNames } from '../../src/notification/kinds.ts';
import { parsePayload } from '../../src/notification/payload.ts';
import { jsonObject, jsonValue } from '../support/json-values.ts';

const common = { webhook_id: '2yW4KmiG', site_id: '9KboGBFu', event_time: '2024-08-27T00:20:57+00:00' };

function bodyOf(kind: Kind): Record<string, unknown> {
  const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, `${name}-1`]));
  return { event: kind, ...ids, ...common };
}

const membersOf = kindNames.flatMap((kind) =>
  Object.keys(bodyOf(kind))
    .filter((member) => member !== 'event')
    .map((member): [Kind, string] => [kind, member]),
);

describe('a payload', () => {
  test.each(kindNames)('of %s, with the members of the specification, is known', (kind) => {
    const body = bodyOf(kind);
    expect(parsePayload(body)).toEqual({ type: 'known', notification: body });
  });

  test.each([
    '{"event":"conversions_complete","media_id":"MNYaMSQl","webhook_id":"2yW4KmiG","site_id":"9KboGBFu","event_time":"2024-08-27T00:20:57+00:00"}',
    '{"event":"channel_active","channel_id":"YijbmYHJ","webhook_id":"2yW4KmiG","site_id":"9KboGBFu","event_time":"2024-08-29T03:01:24+00:00"}',
    '{"event":"channel_idle","channel_id":"t8JLGRl9","webhook_id":"2yW4KmiG","site_id":"9KboGBFu","event_time":"2024-08-29T03:00:34+00:00"}',
    '{"event":"media_available","media_id":"UUhbHm6C","webhook_id":"7Rav0hC5","site_id":"jsPxIVHl","event_time":"2023-11-14T22:30:10+00:00"}',
  ])('that the provider really sent, %s, is known', (text) => {
    expect(parsePayload(JSON.parse(text)).type).toBe('known');
  });

  test.each(kindNames)('of %s, with members beyond the specification, is known and keeps them', (kind) => {
    const body = { ...bodyOf(kind), title: 'a title', nested: { deep: [1] } };
    expect(parsePayload(body)).toEqual({ type: 'known', notification: body });
  });

  test.each(membersOf)('of %s, without %s, is invalid and its problem names the member', (kind, member) => {
    const { [member]: _, ...body } = bodyOf(kind);
    const problem = expect.stringMatching(new RegExp(`^${member}: [^;]+$`));
    expect(parsePayload(body)).toEqual({ type: 'invalid', kind, problem });
  });

  test.each(membersOf)('of %s, with %s of another type, is invalid', (kind, member) => {
    for (const value of [null, 1, true, [], {}, ['a'], '']) {
      expect(parsePayload({ ...bodyOf(kind), [member]: value })).toMatchObject({ type: 'invalid', kind });
    }
  });

  test('with several mistakes, at once, names every one of them', () => {
    const { problem } = { problem: '', ...parsePayload({ event: 'track_created' }) };
    for (const member of ['webhook_id', 'site_id', 'event_time', 'track_id', 'media_id']) {
      expect(problem).toContain(`${member}: `);
    }
  });
});

describe('an id', () => {
  const withId = (media_id: unknown) => parsePayload({ ...bodyOf('media_created'), media_id }).type;

  test.each([
    'MNYaMSQl',
    'x',
    'ä-ö/ü',
    'with space',
    '日本語',
    '😀',
    '../..',
    '%00',
    "'; --",
    'i'.repeat(200),
  ])('such as %p, being text that can be stored, is taken', (id) => expect(withId(id)).toBe('known'));

  test.each(['', 'i'.repeat(201), 'a\u0000b', 'a\nb', '\u007f', '\u0085', '\ud83d', 'a\ude00b'])(
    'such as %j, being empty, too long or not text, makes the payload invalid',
    (id) => expect(withId(id)).toBe('invalid'),
  );
});

describe('a payload of no known kind', () => {
  test.each(['media_archived', '', '__proto__', 'constructor', 'hasOwnProperty'])(
    'such as %p, whatever else it has, is unknown under its name',
    (event) => {
      const body = { event, anything: [1, 2] };
      expect(parsePayload(body)).toEqual({ type: 'unknown', kind: event, notification: body });
    },
  );

  test('without an event at all is unknown under an empty name', () => {
    expect(parsePayload({ media_id: 'a' })).toMatchObject({ type: 'unknown', kind: '' });
  });

  // Regression guard: turning such an object into a text throws.
  test.each<[unknown]>([[{ toString: null }], [{ toString: 1, valueOf: 1 }], [[{ toString: null }]]])(
    'whose event is %j, which cannot be made a text, is unknown and throws nothing',
    (event) => {
      expect(parsePayload({ event })).toMatchObject({ type: 'unknown', kind: expect.any(String) });
    },
  );

  test('of any shape, as JSON, is sorted into one of the three and throws nothing', () => {
    const events = fc.oneof(jsonValue, fc.constantFrom(...kindNames));
    fc.assert(
      fc.property(jsonObject, events, (body, event) => {
        expect(['known', 'unknown', 'invalid']).toContain(parsePayload({ ...body, event }).type);
      }),
    );
  });
});
