import { createHmac, createSecretKey } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keyOf, signNotification, verifyNotification } from '../../src/notification/token.ts';
import { anyCharacter } from '../support/any-character.ts';
import { hmacOf, partsOf, tokenOf } from '../support/hs256.ts';
import { jsonObject, jsonValue, shuffled, spaced } from '../support/json-values.ts';
import { runs } from '../support/sizes.ts';

const secrets = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 80 });
const body =
  '{"event":"media_available","media_id":"UUhbHm6C","webhook_id":"7Rav0hC5","site_id":"jsPxIVHl","event_time":"2023-11-14T22:30:10+00:00"}';

describe('a key', () => {
  test('of an empty secret, which anybody could sign with, is refused with a RangeError', () => {
    expect(() => keyOf('')).toThrow(RangeError);
  });

  test('of any other secret, as UTF-8, signs what HMAC-SHA256 signs with that secret', () => {
    fc.assert(
      fc.property(secrets, (secret) => {
        const token = signNotification(body, keyOf(secret));
        const { input, signature } = partsOf(token);
        const expected = createHmac('sha256', Buffer.from(secret, 'utf8')).update(input).digest('base64url');
        expect(signature).toBe(expected);
      }),
    );
  });
});

describe('a signed notification', () => {
  test('of any JSON object, under any secret, verifies', () => {
    fc.assert(
      fc.property(jsonObject, secrets, (payload, secret) => {
        const token = signNotification(JSON.stringify(payload), keyOf(secret));
        expect(verifyNotification(token, payload, [keyOf(secret)])).toBeUndefined();
      }),
      { numRuns: runs(300) },
    );
  });

  test.each(['exp', 'nbf', 'iat', 'aud', 'iss', 'sub', 'jti', 'alg', 'crit'])(
    'with a member %s of any type, as a claim like any other, verifies',
    (name) => {
      const values = fc.oneof(
        jsonValue,
        fc.constantFrom(0, 1, -1, 99_999_999_999, '2020-01-01', null, [], {}),
      );
      fc.assert(
        fc.property(jsonObject, values, (rest, value) => {
          const payload = { ...rest, [name]: value };
          const token = signNotification(JSON.stringify(payload), keyOf('secret'));
          expect(verifyNotification(token, payload, [keyOf('secret')])).toBeUndefined();
        }),
        { numRuns: runs(50) },
      );
    },
  );

  test('has as claims the very text that is sent, whatever its order and spacing, and nothing added', () => {
    const texts = fc.oneof(
      jsonObject.map((value) => JSON.stringify(value)),
      jsonObject.map(spaced),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const { header, claims } = partsOf(signNotification(text, keyOf('secret')));
        expect(claims).toBe(text);
        expect(header).toBe('{"alg":"HS256","typ":"JWT"}');
      }),
    );
  });

  test('has as claims the very bytes that are sent, when these are signed, valid UTF-8 or not', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (given) => {
        const bytes = Buffer.from(given);
        const token = signNotification(bytes, keyOf('s3cret'));
        const [header, claims = '', signature] = token.split('.');
        expect(Buffer.from(claims, 'base64url').equals(bytes)).toBe(true);
        expect(signature).toBe(hmacOf(`${header}.${claims}`, 's3cret'));
      }),
    );
    expect(signNotification(Buffer.from(body), keyOf('s3cret'))).toBe(
      signNotification(body, keyOf('s3cret')),
    );
  });

  test('is, compared with one put together by hand, the same to the last character', () => {
    expect(signNotification(body, keyOf('s3cret'))).toBe(tokenOf(body, 's3cret'));
  });
});

describe('a token put together by hand', () => {
  const key = keyOf('s3cret');

  test('of any JSON object, with members in another order and with spaces, verifies', () => {
    fc.assert(
      fc.property(jsonObject, (payload) => {
        const token = tokenOf(spaced(shuffled(payload)), 's3cret');
        expect(verifyNotification(token, payload, [key])).toBeUndefined();
      }),
    );
  });

  test.each([
    '{"alg":"HS256"}',
    '{"typ":"JWT","alg":"HS256"}',
    '{"alg":"HS256","typ":"jwt"}',
    '{"alg":"HS256","typ":"JOSE","kid":"7Rav0hC5"}',
    ' { "alg" : "HS256" } ',
  ])('with the header %s, which other libraries write, verifies', (header) => {
    expect(verifyNotification(tokenOf(body, 's3cret', { header }), JSON.parse(body), [key])).toBeUndefined();
  });

  test('with numbers and texts written in another way, being the same values, verifies', () => {
    const token = tokenOf('{"number":1.50e3,"text":"\\u00e4\\/"}', 's3cret');
    expect(verifyNotification(token, { text: 'ä/', number: 1500 }, [key])).toBeUndefined();
  });

  test('verifies under each of several live keys, in any order, and under no other', () => {
    const keys = ['first', 'second', 'third'].map(keyOf);
    for (const secret of ['first', 'second', 'third']) {
      const token = tokenOf(body, secret);
      expect(verifyNotification(token, JSON.parse(body), keys)).toBeUndefined();
      expect(verifyNotification(token, JSON.parse(body), keys.toReversed())).toBeUndefined();
    }
    expect(verifyNotification(tokenOf(body, 'fourth'), JSON.parse(body), keys)).toEqual({
      reason: 'bad signature',
    });
  });

  test('of RFC 7515, appendix A.1, under the key given there, verifies although it expired in 2011', () => {
    const example =
      'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt' +
      'cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
    const bytes = 'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow';
    const claims = { iss: 'joe', exp: 1_300_819_380, 'http://example.com/is_root': true };
    expect(verifyNotification(example, claims, [createSecretKey(bytes, 'base64url')])).toBeUndefined();
  });

  test('is not verified, without any key, for want of a secret', () => {
    expect(verifyNotification(tokenOf(body, 's3cret'), JSON.parse(body), [])).toEqual({
      reason: 'no secret',
    });
  });
});
