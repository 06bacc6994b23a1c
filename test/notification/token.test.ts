import { type KeyObject, randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import jwt from 'jsonwebtoken';
import { parseBody } from '../../src/notification/json.ts';
import {
  isSigned,
  keyOf,
  signNotification,
  unproven,
  verifyNotification,
} from '../../src/notification/token.ts';
import { hmacOf, segment, tokenOf } from '../support/hs256.ts';
import { jsonObject } from '../support/json-values.ts';

const secret = 'a-secret-of-at-least-thirty-two-bytes';
const keys = [keyOf(secret)];
const body = {
  event: 'channel_idle',
  channel_id: 't8JLGRl9',
  webhook_id: '2yW4KmiG',
  iat: 5,
  exp: 1,
  nbf: 9e12,
};
const text = JSON.stringify(body);
const genuine = tokenOf(text, secret);
const [head = '', claims = '', signature = ''] = genuine.split('.');
const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
/** The same bytes, in another text: the last letter of a signature has two bits too many. */
const loose = LETTERS.map((letter) => signature.slice(0, -1) + letter).find(
  (other) =>
    other !== signature && Buffer.from(other, 'base64url').equals(Buffer.from(signature, 'base64url')),
);
const withHeader = (header: object | string, hmac?: 'HS384' | 'HS512') =>
  tokenOf(text, secret, { header, ...(hmac && { hmac }) });

const check = (token: string, sent: string = text, live: readonly KeyObject[] = keys) => {
  const { value } = parseBody(Buffer.from(sent));
  return verifyNotification(token, Buffer.from(sent), value, live);
};

describe('a token is verified', () => {
  test.each<[string, string, string]>([
    ['as the provider makes it', signNotification(text, keys[0] ?? keyOf(secret)), text],
    [
      'as jsonwebtoken makes it of the text',
      jwt.sign(text, secret, { header: { alg: 'HS256', typ: 'JWT' } }),
      text,
    ],
    [
      'with its members in another order',
      tokenOf(JSON.stringify(Object.fromEntries(Object.entries(body).reverse())), secret),
      text,
    ],
    ['with spaces in its claims', tokenOf(JSON.stringify(body, null, 2), secret), text],
    ['with another header of HS256', withHeader('{"kid":"1", "alg":"HS256"}'), text],
    ['over a body with escapes', tokenOf('{"a":"\u00e9"}', secret), '{"a":"\\u00e9"}'],
  ])('%s', (_how, token, sent) => {
    expect(check(token, sent)).toBeUndefined();
    expect(check(token, sent, [keyOf('another'), ...keys])).toBeUndefined();
    expect(isSigned(token, keys)).toBe(true);
  });

  test('over any body, as it came', () => {
    fc.assert(
      fc.property(jsonObject, (any) => {
        const sent = JSON.stringify(any);
        expect(check(tokenOf(sent, secret), sent)).toBeUndefined();
      }),
    );
  });
});

const refused: readonly (readonly [string, string, object])[] = [
  ['signed by another', tokenOf(text, 'another'), { reason: 'bad signature' }],
  ['of alg none', `${segment('{"alg":"none"}')}.${claims}.`, { reason: 'not HS256' }],
  ['of HS512', withHeader({ alg: 'HS512' }, 'HS512'), { reason: 'not HS256' }],
  ['of hs256 in lower case', withHeader({ alg: 'hs256' }), { reason: 'not HS256' }],
  ['with crit', withHeader({ alg: 'HS256', crit: ['exp'] }), { reason: 'critical header' }],
  [
    'with crit, signed by another',
    tokenOf(text, 'x', { header: { alg: 'HS256', crit: [] } }),
    { reason: 'critical header' },
  ],
  [
    'with an iat more',
    tokenOf(JSON.stringify({ ...body, iat: 6 }), secret),
    { reason: 'claims differ', path: '/iat' },
  ],
  [
    'with a member less',
    tokenOf('{"event":"channel_idle"}', secret),
    { reason: 'claims differ', path: '/channel_id' },
  ],
  ['with claims that are a list', tokenOf('[]', secret), { reason: 'claims differ', path: '' }],
  ['with claims that are no JSON', tokenOf('{', secret), { reason: 'malformed token' }],
  ['with a header that is no JSON', withHeader('{'), { reason: 'malformed token' }],
  [
    'with a very long header',
    tokenOf(text, 'x', { header: `{"alg":"HS256","a":"${'a'.repeat(9000)}"}` }),
    { reason: 'malformed token' },
  ],
  ['with a signature of loose bits', `${head}.${claims}.${loose}`, { reason: 'bad signature' }],
  ['with a padded signature', `${genuine}=`, { reason: 'malformed token' }],
  ['with trailing characters', `${genuine}x`, { reason: 'malformed token' }],
  ['with a fourth part', `${genuine}.x`, { reason: 'malformed token' }],
  [
    'with four parts, rightly signed',
    `${head}.${claims}.x.${hmacOf(`${head}.${claims}.x`, secret)}`,
    { reason: 'malformed token' },
  ],
  ['without a signature', `${head}.${claims}.`, { reason: 'malformed token' }],
  ...['', '.', '..', '...', 'x', `.${genuine}`, ` ${genuine}`, `${genuine}\n`, text].map(
    (other) =>
      [`that is none: ${JSON.stringify(other).slice(0, 20)}`, other, { reason: 'malformed token' }] as const,
  ),
];

describe('a token is refused', () => {
  test.each(refused)('%s', (_what, token, refusal) => {
    expect(check(token)).toEqual(refusal);
    expect(check(token, text, [keyOf('one'), ...keys])).toEqual(refusal);
  });

  test('of a webhook without a secret', () => {
    expect(check(genuine, text, [])).toEqual({ reason: 'no secret' });
    expect(isSigned(genuine, [])).toBe(false);
  });

  test('with a path of at most 200 characters, however long the name that differs', () => {
    const refusal = check(tokenOf(JSON.stringify({ ...body, ['n'.repeat(5000)]: 1 }), secret));
    expect(refusal).toEqual({ reason: 'claims differ', path: `/${'n'.repeat(199)}` });
  });
});

describe('a token whose only flaw is that no known secret explains its signature', () => {
  const unknown = tokenOf(text, 'not known yet');
  test('is unproven, and every other one that is refused is not', () => {
    expect(unproven(unknown, body)).toBe(true);
    expect(unproven(tokenOf(JSON.stringify(body, null, 1), 'not known yet'), body)).toBe(true);
    const flawed = refused.filter(
      ([, , refusal]) => !('reason' in refusal && refusal.reason === 'bad signature'),
    );
    expect(flawed.filter(([, token]) => unproven(token, body)).map(([what]) => what)).toEqual([]);
    expect(unproven(unknown, { ...body, more: 1 })).toBe(false);
    expect(unproven(tokenOf(`${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`, 'x'), body)).toBe(false);
  });

  test('is not signed by the known ones', () => {
    expect(isSigned(unknown, keys)).toBe(false);
    expect(isSigned(unknown, [...keys, keyOf('not known yet')])).toBe(true);
    expect(isSigned(`${head}.${claims}.${loose}`, keys)).toBe(false);
  });
});

test('a body that is not UTF-8 is signed as it is', () => {
  const bytes = Buffer.concat([Buffer.from('{'), randomBytes(8)]);
  const [, middle = ''] = signNotification(bytes, keyOf(secret)).split('.');
  expect(Buffer.from(middle, 'base64url').equals(bytes)).toBe(true);
});

test('an empty secret is refused, as everybody could sign with it', () => {
  expect(() => keyOf('')).toThrow(RangeError);
});
