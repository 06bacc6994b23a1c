import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parsePayload } from '../../src/notification/payload.ts';
import { redactor } from '../../src/replay/export-recording.ts';
import { jsonObject } from '../support/json-values.ts';

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

test('leaves a valid notification, when it is redacted, with none of its ids', () => {
  const event = 'thumbnail_created';
  const ids = {
    media_id: 'mediaAAA',
    thumbnail_id: 'thumbAAA',
    track_id: 'trackAAA',
    channel_id: 'channAAA',
    webhook_id: 'webhook1',
    site_id: 'siteAAAA',
  };
  const event_time = '2026-11-19T12:00:00+00:00';
  const { value, webhookId, receivedAt, body } = redacted({ event, ...ids, event_time });
  expect(parsePayload(value)).toMatchObject({ type: 'known', notification: { event } });
  expect(value).toMatchObject({ event_time, webhook_id: webhookId });
  expect(receivedAt).toBe(7);
  for (const id of Object.values(ids)) expect(body).not.toContain(id);
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
