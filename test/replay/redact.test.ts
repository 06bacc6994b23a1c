import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { kindNames } from '../../src/notification/kinds.ts';
import { parsePayload } from '../../src/notification/payload.ts';
import { idRedactor, redactor } from '../../src/replay/redact.ts';
import { jsonObject } from '../support/json-values.ts';
import { size } from '../support/sizes.ts';
import { verified } from '../support/verified-notification.ts';

const key = Buffer.from('a-key-for-redacting-in-tests');
const SHAPE = /^[A-Za-z0-9]{8}$/;

function redacted(body: object, redact = redactor(key)) {
  const text = redact({ body: JSON.stringify(body), receivedAt: 7, webhookId: 'webhook1' });
  return { ...text, value: JSON.parse(text.body) };
}

test('gives every id the same other one of 8 letters and digits, when the key is the same', () => {
  const again = idRedactor(Buffer.from(key));
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (id) => {
      const other = idRedactor(key)(id);
      expect(other).toMatch(SHAPE);
      expect(again(id)).toBe(other);
      expect(idRedactor(Buffer.from('another-key-of-some-length'))(id)).not.toBe(other);
    }),
  );
});

const IDS = size({ small: 20_000, full: 200_000 });

test(`gives ${IDS} ids as many others, when they differ, without two alike`, () => {
  const redact = idRedactor(key);
  const others = new Set(Array.from({ length: IDS }, (_, number) => redact(`media${number}`)));
  expect(others.size).toBe(IDS);
});

test('spreads ids over all letters and digits, when there are many, evenly', () => {
  const redact = idRedactor(key);
  const counts = new Map<string, number>();
  for (let number = 0; number < 62_000; number++) {
    const first = redact(`id${number}`)[0] ?? '';
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  expect(counts.size).toBe(62);
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(200);
});

test.each(kindNames)('leaves a valid notification, when a %s is redacted, with none of its ids', (kind) => {
  const ids = {
    media_id: 'mediaAAA',
    thumbnail_id: 'thumbAAA',
    track_id: 'trackAAA',
    channel_id: 'channAAA',
  };
  const { value, webhookId, receivedAt, body } = redacted({
    event: kind,
    ...ids,
    webhook_id: 'webhook1',
    site_id: 'siteAAAA',
    event_time: '2026-11-19T12:00:00+00:00',
  });
  expect(parsePayload(value)).toMatchObject({ type: 'known', notification: { event: kind } });
  expect(value).toMatchObject({ event_time: '2026-11-19T12:00:00+00:00', webhook_id: webhookId });
  expect(receivedAt).toBe(7);
  for (const id of ['mediaAAA', 'thumbAAA', 'trackAAA', 'channAAA', 'webhook1', 'siteAAAA'])
    expect(body).not.toContain(id);
  for (const [name, id] of Object.entries(value).filter(([name]) => name.endsWith('_id')))
    expect({ name, id }).toEqual({ name, id: expect.stringMatching(SHAPE) });
});

test('keeps what belongs together, when one media is in several kinds of notification, as one media', () => {
  const media = (event: string, more = {}) =>
    redacted({ event, media_id: 'mediaAAA', ...more }).value.media_id;
  expect(new Set([media('media_created'), media('track_created', { track_id: 'trackAAA' })]).size).toBe(1);
});

test('drops what it does not know, when a body has other members, whatever they hold', () => {
  const { value } = redacted({
    event: 'media_created',
    media_id: 'mediaAAA',
    title: 'Our secret film',
    owner: { email: 'a@b.example' },
    tags: ['x'],
    views: 7,
    'title of a film_id': 'x',
    event_time: 'Our secret time',
  });
  expect(Object.keys(value)).toEqual(['event', 'media_id']);
});

test.each([
  [
    'a kind that is not known',
    { event: 'media_renamed', playlist_id: 'playlist' },
    { event: 'media_renamed' },
  ],
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

test('gives the same recording, when the same one is redacted twice with one key, text for text', () => {
  const { body } = verified({ media_id: 'mediaAAA' });
  expect(redacted(JSON.parse(body)).body).toBe(redacted(JSON.parse(body), redactor(Buffer.from(key))).body);
});
