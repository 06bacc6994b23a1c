import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseBody } from '../../src/notification/json.ts';
import { isSigned, keyOf, unproven, verifyNotification } from '../../src/notification/token.ts';
import { tokenOf } from '../support/hs256.ts';
import { jsonObject } from '../support/json-values.ts';

// Forgeries, one by one, are in test/hardening/forgeries.test.ts.
const secret = 'a-secret-of-at-least-thirty-two-bytes';
const keys = [keyOf(secret)];
const body = { event: 'channel_idle', channel_id: 't8JLGRl9', webhook_id: '2yW4KmiG', iat: 5, exp: 1 };
const text = JSON.stringify(body);

const check = (token: string, sent: string = text, live = keys) => {
  const { value } = parseBody(Buffer.from(sent));
  return verifyNotification(token, Buffer.from(sent), value, live);
};

test('a token is verified over any body, as it came, with any of the live secrets', () => {
  fc.assert(
    fc.property(jsonObject, (any) => {
      const sent = JSON.stringify(any);
      expect(check(tokenOf(sent, secret), sent, [keyOf('another'), ...keys])).toBeUndefined();
    }),
  );
});

const refused: readonly (readonly [string, string, object])[] = [
  ['signed by another', tokenOf(text, 'another'), { reason: 'bad signature' }],
  ['of HS512', tokenOf(text, secret, { header: { alg: 'HS512' }, hmac: 'HS512' }), { reason: 'not HS256' }],
  [
    'with crit, signed by another',
    tokenOf(text, 'x', { header: { alg: 'HS256', crit: [] } }),
    { reason: 'critical header' },
  ],
  [
    'with a member less',
    tokenOf('{"event":"channel_idle"}', secret),
    { reason: 'claims differ', path: '/channel_id' },
  ],
  ['with claims that are no JSON', tokenOf('{', secret), { reason: 'malformed token' }],
  [
    'with a very long header',
    tokenOf(text, 'x', { header: `{"alg":"HS256","a":"${'a'.repeat(9000)}"}` }),
    { reason: 'malformed token' },
  ],
  ['that is none', 'x', { reason: 'malformed token' }],
];

test.each(refused)('a token is refused with the reason for its operator: %s', (_what, token, refusal) => {
  expect(check(token)).toEqual(refusal);
});

test('a token of a webhook without a secret is refused', () => {
  expect(check(tokenOf(text, secret), text, [])).toEqual({ reason: 'no secret' });
});

describe('a token whose only flaw is that no known secret explains its signature', () => {
  const unknown = tokenOf(text, 'not known yet');
  test('is unproven, and every other one that is refused is not', () => {
    const [badSignature, ...flawed] = refused;
    expect([unproven(unknown, body), unproven(badSignature?.[1] ?? '', body)]).toEqual([true, true]);
    expect(flawed.filter(([, token]) => unproven(token, body)).map(([what]) => what)).toEqual([]);
    expect(unproven(unknown, { ...body, more: 1 })).toBe(false);
  });

  test('is signed by nothing but that secret', () => {
    expect(isSigned(unknown, keys)).toBe(false);
    expect(isSigned(unknown, [...keys, keyOf('not known yet')])).toBe(true);
  });
});

test('an empty secret is refused, as everybody could sign with it', () => {
  expect(() => keyOf('')).toThrow(RangeError);
});
