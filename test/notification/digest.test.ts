import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { digestOf } from '../../src/notification/digest.ts';
import { canonicalJson } from '../../src/notification/json.ts';
import { keyOf, signNotification, verifyNotification } from '../../src/notification/token.ts';
import { jsonObject, jsonValue, shuffled } from '../support/json-values.ts';
import { singleChange } from '../support/single-change.ts';

const hex = (body: object) => digestOf({ ...body }).toString('hex');

describe('the digest of a notification', () => {
  // The canonical texts are written by hand; the hashes were also computed with another program (Python's hashlib).
  test.each([
    [
      '{"event":"conversions_complete","media_id":"MNYaMSQl","webhook_id":"2yW4KmiG","site_id":"9KboGBFu","event_time":"2024-08-27T00:20:57+00:00"}',
      '{"event":"conversions_complete","event_time":"2024-08-27T00:20:57+00:00","media_id":"MNYaMSQl","site_id":"9KboGBFu"}',
      'ed7f1bd9745c7d4a8dea811477c2c70eac5b3fa39f55699da67ccfeec22643dd',
    ],
    [
      '{"event":"channel_active","channel_id":"YijbmYHJ","webhook_id":"2yW4KmiG","site_id":"9KboGBFu","event_time":"2024-08-29T03:01:24+00:00"}',
      '{"channel_id":"YijbmYHJ","event":"channel_active","event_time":"2024-08-29T03:01:24+00:00","site_id":"9KboGBFu"}',
      '497cdea1d8cd86512fc3e1706ec7cff17740a1c016fdc3a98b9808f7767ee1f9',
    ],
    ['{"webhook_id":"2yW4KmiG"}', '{}', '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'],
    [
      '{"text":"\\u00e4 😀 \\"\\\\\\n","number":1.50e3,"webhook_id":{},"list":[3,1,2,{"b":false,"a":null}]}',
      '{"list":[3,1,2,{"a":null,"b":false}],"number":1500,"text":"ä 😀 \\"\\\\\\n"}',
      '98f71b963cf4afae3a797797f809433221a56f62359e139c3c204ef1cea55960',
    ],
  ])('of %s, by hand, is the SHA-256 of %s', (body, canonical, expected) => {
    expect(hex(JSON.parse(body))).toBe(expected);
    expect(createHash('sha256').update(canonical, 'utf8').digest('hex')).toBe(expected);
  });

  test('is the SHA-256 of the canonical text, when that is put together or goes member by member, as where one is long', () => {
    const long = fc.string({ unit: 'binary', minLength: 4000, maxLength: 4200, size: 'max' });
    fc.assert(
      fc.property(jsonObject, fc.option(long), (given, text) => {
        const { webhook_id: _, ...event } = text === null ? given : { ...given, text };
        expect(hex(event)).toBe(createHash('sha256').update(canonicalJson(event)).digest('hex'));
      }),
    );
  });

  test('of any body, with any webhook_id or none, is the same', () => {
    fc.assert(
      fc.property(jsonObject, jsonValue, jsonValue, (body, one, other) => {
        const { webhook_id: _, ...without } = body;
        expect(hex({ ...body, webhook_id: one })).toBe(hex({ ...body, webhook_id: other }));
        expect(hex({ ...body, webhook_id: one })).toBe(hex(without));
      }),
    );
  });

  test('of any body, with its members in another order, is the same', () => {
    fc.assert(
      fc.property(jsonObject, (body) => {
        expect(hex({ ...(shuffled(body) as object) })).toBe(hex(body));
      }),
    );
  });

  test('of any body, with anything else changed at any depth, is another', () => {
    fc.assert(
      fc.property(singleChange(jsonObject), ({ before, after }) => {
        expect(hex(after)).not.toBe(hex(before));
      }),
    );
  });

  test('of a body with a webhook_id further inside, where it is what happened, depends on it', () => {
    expect(hex({ inner: { webhook_id: 'a' } })).not.toBe(hex({ inner: { webhook_id: 'b' } }));
  });

  test('is the same of 0 and -0, which RFC 8785 both writes as 0, and a token with the one verifies a body with the other', () => {
    const forms = ['0', '-0', '0.0', '-0e5'].map((number) => `{"event":"e","number":${number}}`);
    const key = keyOf('a-secret-of-at-least-thirty-two-bytes');
    for (const body of forms) {
      expect(hex(JSON.parse(body))).toBe(hex({ event: 'e', number: 0 }));
      for (const claims of forms) {
        const token = signNotification(claims, key);
        expect(verifyNotification(token, Buffer.from(body), JSON.parse(body), [key])).toBeUndefined();
      }
    }
    const other = signNotification('{"event":"e","number":-5e-324}', key);
    const zero = '{"event":"e","number":-0}';
    expect(verifyNotification(other, Buffer.from(zero), JSON.parse(zero), [key])).toMatchObject({
      path: '/number',
    });
  });

  test('has 32 bytes, for any body', () => {
    fc.assert(fc.property(jsonObject, (body) => digestOf(body).length === 32));
  });
});
