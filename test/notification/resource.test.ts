import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KINDS, kindNames } from '../../src/notification/kinds.ts';
import { eventTimeOf, parsePayload, resourceOf } from '../../src/notification/payload.ts';
import { anyCharacter } from '../support/any-character.ts';
import { jsonObject, jsonValue } from '../support/json-values.ts';

/** Times as they are written, some of them with one character that does not belong there. */
const nearlyTimes = fc
  .tuple(fc.date({ noInvalidDate: true }), fc.nat(30), fc.constantFrom('', 'Z', '+01:00', ' ', '9', '-'))
  .map(([date, at, put]) => {
    const text = date.toISOString();
    return text.slice(0, at) + put + text.slice(at + put.length);
  });

describe('the resource of a notification', () => {
  test.each([
    [{ event: 'media_created', media_id: 'MNYaMSQl' }, 'media:MNYaMSQl'],
    [{ event: 'thumbnail_created', thumbnail_id: 't1', media_id: 'm1' }, 'media:m1'],
    [{ event: 'track_deleted', track_id: 't1', media_id: 'm1' }, 'media:m1'],
    [{ event: 'channel_idle', channel_id: 'YijbmYHJ' }, 'channel:YijbmYHJ'],
    [{ event: 'channel_active', channel_id: 'c1', media_id: 'm1' }, 'channel:c1'],
    [{ event: 'media_created', channel_id: 'c1', media_id: 'm1' }, 'media:m1'],
    [{ event: 'a kind to come', channel_id: 'c1' }, 'channel:c1'],
    [{ event: 'a kind to come', media_id: 'm1', channel_id: 'c1' }, 'media:m1'],
    [{ media_id: 7, channel_id: 'c1' }, 'channel:c1'],
    [{ media_id: 'with:colon' }, 'media:with:colon'],
  ])('of %j, by its ids, is %s', (body, resource) => {
    expect(resourceOf(body)).toBe(resource);
  });

  test.each([
    {},
    { media_id: '' },
    { media_id: null },
    { media_id: ['m1'] },
    { channel_id: 'c'.repeat(201) },
    { media_id: 'a\u0000' },
    { thumbnail_id: 't1' },
    { MEDIA_ID: 'm1' },
    { event: 'media_created', media_id: '', channel_id: 'c1' },
    { event: 'track_created', media_id: 7, channel_id: 'c1' },
    { event: 'channel_created', channel_id: '', media_id: 'm1' },
    { event: 'channel_created', media_id: 'm1' },
  ])('of %j, without an id that can be stored, is none', (body) => {
    expect(resourceOf(body)).toBeUndefined();
  });

  test('of a known kind, with any ids, is what its kind is about, or none, as its payload is valid or not', () => {
    const ids = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 250 }),
      fc.constantFrom('', 'x', 7, null),
    );
    const common = { webhook_id: 'w', site_id: 's', event_time: '2024-08-27T00:20:57+00:00' };
    fc.assert(
      fc.property(fc.constantFrom(...kindNames), ids, ids, (event, media_id, channel_id) => {
        const body = { event, ...common, thumbnail_id: 't', track_id: 't', media_id, channel_id };
        const subject = KINDS[event].group === 'channels' ? `channel:${channel_id}` : `media:${media_id}`;
        expect(resourceOf(body)).toBe(parsePayload(body).type === 'known' ? subject : undefined);
      }),
    );
  });

  test('of any JSON object is a media, a channel or none, and throws nothing', () => {
    fc.assert(
      fc.property(jsonObject, (body) => {
        expect(resourceOf(body) ?? 'media:').toMatch(/^(media|channel):/);
      }),
    );
  });
});

describe('the time of a notification', () => {
  test.each([
    ['2024-08-27T00:20:57+00:00', Date.UTC(2024, 7, 27, 0, 20, 57)],
    ['2024-08-27T00:20:57Z', Date.UTC(2024, 7, 27, 0, 20, 57)],
    ['2024-08-27T02:20:57+02:00', Date.UTC(2024, 7, 27, 0, 20, 57)],
    ['2024-08-26T18:50:57-05:30', Date.UTC(2024, 7, 27, 0, 20, 57)],
    ['2024-08-27T00:20:57.123+00:00', Date.UTC(2024, 7, 27, 0, 20, 57, 123)],
    ['2024-08-27T00:20:57.123456+00:00', Date.UTC(2024, 7, 27, 0, 20, 57, 123)],
    ['2024-02-29T00:00:00+00:00', Date.UTC(2024, 1, 29)],
    ['1970-01-01T00:00:00+00:00', 0],
  ])('%s, with an offset, is that instant', (event_time, expected) => {
    expect(eventTimeOf({ event_time })).toBe(expected);
  });

  test.each([
    undefined,
    null,
    0,
    1724718057,
    '',
    'yesterday',
    '1724718057',
    '2024-08-27',
    '2024-08-27T00:20:57',
    '2024-08-27 00:20:57+00:00',
    '2024-02-30T00:00:00+00:00',
    '2023-02-29T00:00:00+00:00',
    '2024-08-27T24:00:00+00:00',
    ' 2024-08-27T00:20:57+00:00',
    ['2024-08-27T00:20:57+00:00'],
  ])('%j, not being an instant, is none', (event_time) => {
    expect(eventTimeOf({ event_time })).toBeUndefined();
  });

  test('of anything is none, when the schema of a notification does not take it', () => {
    const time = fc.oneof(jsonValue, fc.string(), fc.date({ noInvalidDate: true }).map(String), nearlyTimes);
    fc.assert(
      fc.property(time, (event_time) => {
        const body = { event: 'media_created', media_id: 'm', webhook_id: 'w', site_id: 's', event_time };
        expect(eventTimeOf({ event_time }) === undefined).toBe(parsePayload(body).type === 'invalid');
      }),
    );
  });

  test('of any whole second and offset, written as the provider does, is that second', () => {
    const seconds = fc.integer({ min: 0, max: 4_000_000_000 });
    const offset = fc.integer({ min: -12 * 60, max: 14 * 60 });
    fc.assert(
      fc.property(seconds, offset, (second, minutes) => {
        const local = new Date((second + minutes * 60) * 1000).toISOString().slice(0, 19);
        const [sign, size] = minutes < 0 ? ['-', -minutes] : ['+', minutes];
        const two = (value: number) => String(value).padStart(2, '0');
        const event_time = `${local}${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`;
        fc.pre(!local.startsWith('1969'));
        expect(eventTimeOf({ event_time })).toBe(second * 1000);
      }),
    );
  });
});
