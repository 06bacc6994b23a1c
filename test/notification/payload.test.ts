import { describe, expect, test } from '@jest/globals';
import { KINDS, type Kind, kindNames } from '../../src/notification/kinds.ts';
import { eventTimeOf, parsePayload, resourceOf } from '../../src/notification/payload.ts';

/** The table of events of the provider's specification: the kind, its group of handlers, and the ids beside the common members. */
const SPECIFICATION = [
  ['media_created', 'media', ['media_id']],
  ['media_available', 'media', ['media_id']],
  ['conversions_complete', 'media', ['media_id']],
  ['media_updated', 'media', ['media_id']],
  ['media_reuploaded', 'media', ['media_id']],
  ['media_deleted', 'media', ['media_id']],
  ['thumbnail_created', 'thumbnails', ['thumbnail_id', 'media_id']],
  ['thumbnail_deleted', 'thumbnails', ['thumbnail_id', 'media_id']],
  ['track_created', 'tracks', ['track_id', 'media_id']],
  ['track_deleted', 'tracks', ['track_id', 'media_id']],
  ['channel_created', 'channels', ['channel_id']],
  ['channel_active', 'channels', ['channel_id']],
  ['channel_idle', 'channels', ['channel_id']],
];
const common = { webhook_id: '2yW4KmiG', site_id: '9KboGBFu', event_time: '2024-08-27T00:20:57+00:00' };

function bodyOf(kind: Kind): Record<string, unknown> {
  const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, `${name}-1`]));
  return { event: kind, ...ids, ...common };
}

test('the table of kinds is that of the specification, in its order', () => {
  expect(Object.entries(KINDS).map(([kind, { group, ids }]) => [kind, group, ids])).toEqual(SPECIFICATION);
});

describe('a payload', () => {
  test.each(kindNames)('of %s with the members of the specification is known, with more as well', (kind) => {
    for (const body of [bodyOf(kind), { ...bodyOf(kind), title: 'a title', nested: { deep: [1] } }])
      expect(parsePayload(body)).toEqual({ type: 'known', notification: body });
  });

  test.each(kindNames)(
    'of %s is invalid and says why, without a member or with one that is no text',
    (kind) => {
      for (const member of Object.keys(bodyOf(kind)).filter((name) => name !== 'event')) {
        for (const value of [undefined, null, 1, [], {}, ['a'], '']) {
          const problem = expect.stringMatching(new RegExp(`^${member}: .+$`));
          expect(parsePayload({ ...bodyOf(kind), [member]: value })).toEqual({
            type: 'invalid',
            kind,
            problem,
          });
        }
      }
    },
  );

  test('names every mistake at once', () => {
    const { problem } = { problem: '', ...parsePayload({ event: 'track_created' }) };
    for (const member of ['webhook_id', 'site_id', 'event_time', 'track_id', 'media_id'])
      expect(problem).toContain(`${member}: `);
  });

  test.each<[unknown, string]>([
    ['media_archived', 'media_archived'],
    ['__proto__', '__proto__'],
    [undefined, ''],
    [{ toString: null }, ''],
  ])('whose event is %j is unknown under the name "%s"', (event, kind) => {
    const body = { event, anything: [1, 2] };
    expect(parsePayload(body)).toEqual({ type: 'unknown', kind, notification: body });
  });

  test.each([
    ...['x', 'ä-ö/ü', 'with space', '😀', "'; --", 'i'.repeat(200)].map((id) => [id, 'known']),
    ...['', 'i'.repeat(201), 'a\u0000b', 'a\nb', '\u0085', '\ud83d', 'a\ude00b'].map((id) => [id, 'invalid']),
  ])('whose id is %j is %s', (media_id, type) => {
    expect(parsePayload({ ...bodyOf('media_created'), media_id }).type).toBe(type);
  });
});

test.each<[object, string | undefined]>([
  [{ event: 'thumbnail_created', thumbnail_id: 't1', media_id: 'm1' }, 'media:m1'],
  [{ event: 'channel_active', channel_id: 'c1', media_id: 'm1' }, 'channel:c1'],
  [{ event: 'media_created', channel_id: 'c1', media_id: 'm:1' }, 'media:m:1'],
  [{ event: 'a kind to come', media_id: 'm1', channel_id: 'c1' }, 'media:m1'],
  [{ media_id: ['m1'] }, undefined],
  [{ media_id: 'a\u0000' }, undefined],
  [{ event: 'media_created', media_id: '', channel_id: 'c1' }, undefined],
  [{ event: 'channel_created', media_id: 'm1' }, undefined],
])('the resource of a notification of %j is %p', (body, resource) => {
  expect(resourceOf({ ...body })).toBe(resource);
});

test.each<[unknown, number | undefined]>([
  ['2024-08-27T00:20:57+00:00', Date.UTC(2024, 7, 27, 0, 20, 57)],
  ['2024-08-27T00:20:57Z', Date.UTC(2024, 7, 27, 0, 20, 57)],
  ['2024-08-26T18:50:57-05:30', Date.UTC(2024, 7, 27, 0, 20, 57)],
  ['2024-08-27T00:20:57.123456+00:00', Date.UTC(2024, 7, 27, 0, 20, 57, 123)],
  ['2024-02-29T00:00:00+00:00', Date.UTC(2024, 1, 29)],
  [undefined, undefined],
  [1_724_718_057, undefined],
  ['yesterday', undefined],
  ['2024-08-27T00:20:57', undefined],
  ['2023-02-29T00:00:00+00:00', undefined],
  ['2024-08-27T24:00:00+00:00', undefined],
  [' 2024-08-27T00:20:57+00:00', undefined],
  [['2024-08-27T00:20:57+00:00'], undefined],
])('the time of a notification %j is %p, and none where its payload is invalid', (event_time, expected) => {
  expect(eventTimeOf({ event_time })).toBe(expected);
  const isKnown = parsePayload({ ...bodyOf('media_created'), event_time }).type === 'known';
  expect(isKnown).toBe(expected !== undefined);
});
