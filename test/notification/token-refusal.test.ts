import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { inspectToken, keyOf, signNotification, verifyNotification } from '../../src/notification/token.ts';
import { hmacOf, segment, tokenOf } from '../support/hs256.ts';
import { jsonObject } from '../support/json-values.ts';
import { singleChange } from '../support/single-change.ts';
import { runs } from '../support/sizes.ts';

const secret = 'a-secret-of-at-least-thirty-two-bytes';
const keys = [keyOf(secret)];
const body = { event: 'channel_idle', channel_id: 't8JLGRl9', webhook_id: '2yW4KmiG', site_id: '9KboGBFu' };
const text = JSON.stringify(body);
const token = tokenOf(text, secret);

describe('a genuine token', () => {
  test('is refused, when anything in the body was changed, added or taken away, with its place', () => {
    fc.assert(
      fc.property(singleChange(jsonObject), ({ before, after, pointer }) => {
        const signed = signNotification(JSON.stringify(before), keys[0] ?? keyOf(secret));
        const refusal = { reason: 'claims differ', path: pointer };
        expect(verifyNotification(signed, after, keys)).toEqual(refusal);
      }),
      { numRuns: runs(500) },
    );
  });

  test.each(['iat', 'exp', 'nbf', 'aud', 'jti'])(
    'is refused, when its claims carry an extra %s, with its place',
    (name) => {
      const claims = JSON.stringify({ ...body, [name]: 1_700_000_000 });
      const refusal = { reason: 'claims differ', path: `/${name}` };
      expect(verifyNotification(tokenOf(claims, secret), body, keys)).toEqual(refusal);
    },
  );

  test('is refused, when it is another notification of the same webhook, as differing', () => {
    const other = JSON.stringify({ ...body, channel_id: 'YijbmYHJ' });
    const refusal = { reason: 'claims differ', path: '/channel_id' };
    expect(verifyNotification(tokenOf(other, secret), body, keys)).toEqual(refusal);
  });

  test('is refused, wherever it is cut off', () => {
    fc.assert(
      fc.property(fc.nat(token.length - 1), (length) => {
        expect(verifyNotification(token.slice(0, length), body, keys)).toBeDefined();
      }),
      { numRuns: runs(300) },
    );
  });

  test('is refused, whichever character is another', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...letters), (index, letter) => {
        fc.pre(token[index] !== letter);
        const changed = token.slice(0, index) + letter + token.slice(index + 1);
        expect(verifyNotification(changed, body, keys)).toBeDefined();
      }),
      { numRuns: runs(500) },
    );
  });

  test('is refused, whatever is inserted anywhere', () => {
    const places = fc.nat(token.length);
    fc.assert(
      fc.property(places, fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 3 }), (index, extra) => {
        const changed = token.slice(0, index) + extra + token.slice(index);
        fc.pre(changed !== token);
        expect(verifyNotification(changed, body, keys)).toBeDefined();
      }),
      { numRuns: runs(500) },
    );
  });

  test.each([
    ['padded', (part: string) => part.padEnd(Math.ceil(part.length / 4) * 4 + 4, '=')],
    ['with a line end', (part: string) => `${part}\n`],
    ['in hex', (part: string) => Buffer.from(part, 'base64url').toString('hex')],
    ['in upper case', (part: string) => part.toUpperCase()],
    ['encoded twice', segment],
    ['empty', () => ''],
  ])('is refused, when one of its parts is re-encoded: %s', (_how, encode) => {
    for (const index of [0, 1, 2]) {
      const parts = token.split('.');
      parts[index] = encode(parts[index] ?? '');
      expect(verifyNotification(parts.join('.'), body, keys)).toBeDefined();
    }
  });

  test('is refused, when its signature is in the other alphabet of base64 or has loose bits', () => {
    const bodies = Array.from({ length: 64 }, (_, number) => ({ ...body, number }));
    for (const one of bodies) {
      const [header = '', claims = '', signature = ''] = tokenOf(JSON.stringify(one), secret).split('.');
      const classic = signature.replaceAll('-', '+').replaceAll('_', '/');
      const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');
      const same = last.filter((letter) => {
        const other = Buffer.from(signature.slice(0, -1) + letter, 'base64url');
        return other.equals(Buffer.from(signature, 'base64url'));
      });
      const others = [classic, ...same.map((letter) => signature.slice(0, -1) + letter)];
      for (const other of others.filter((candidate) => candidate !== signature)) {
        expect(verifyNotification(`${header}.${claims}.${other}`, one, keys)).toBeDefined();
      }
    }
  });

  test.each([
    '',
    '.',
    '..',
    '...',
    'x',
    `${token}.`,
    `.${token}`,
    `${token}.${token}`,
    ` ${token}`,
    `Bearer ${token}`,
    text,
  ])('is refused, when it is not one at all: %p', (other) =>
    expect(verifyNotification(other, body, keys)).toEqual({ reason: 'malformed token' }),
  );
});

describe('a signature', () => {
  test.each(['', 'another-secret', secret.slice(1), `${secret} `, secret.toUpperCase()])(
    'made with %p, which is not the secret, is refused',
    (other) =>
      expect(verifyNotification(tokenOf(text, other), body, keys)).toEqual({ reason: 'bad signature' }),
  );

  test('made with an empty string, when there is no secret either, is refused', () => {
    expect(verifyNotification(tokenOf(text, ''), body, [])).toEqual({ reason: 'no secret' });
  });

  test('over claims that nobody can agree on, although it is right, is refused', () => {
    for (const claims of [
      'null',
      '[]',
      '"text"',
      'text',
      `${text.slice(0, -1)},"event":"channel_idle"}`,
      '{"a":1e400}',
    ]) {
      expect(verifyNotification(tokenOf(claims, secret), body, keys)).toEqual({ reason: 'malformed token' });
    }
  });

  test('is looked at before the claims, so that a forger learns nothing from the reason', () => {
    expect(verifyNotification(tokenOf('{}', 'other'), body, keys)).toEqual({ reason: 'bad signature' });
  });
});

describe('a token that waits for its secret', () => {
  test.each([
    [token, undefined],
    [tokenOf(text, 'whatever secret'), undefined],
    [tokenOf('{}', secret), { reason: 'claims differ', path: '/event' }],
    [tokenOf(text, secret, { header: { alg: 'HS384' }, hmac: 'HS384' }), { reason: 'malformed token' }],
    [tokenOf(text, secret, { header: { alg: 'HS384' } }), { reason: 'not HS256' }],
    [tokenOf(text, secret, { header: { alg: 'HS256', crit: [] } }), { reason: 'critical header' }],
    [tokenOf(text, secret, { header: '{"alg":"HS256","alg":"none"}' }), { reason: 'malformed token' }],
    [`${segment('[]')}.${segment(text)}.${hmacOf('', '')}`, { reason: 'malformed token' }],
    [token.slice(0, -1), { reason: 'malformed token' }],
    [token.replace('.', '=.'), { reason: 'malformed token' }],
    [token.replace('.', ' .'), { reason: 'malformed token' }],
  ])('%#, inspected without a key, is worth keeping or not', (candidate, expected) => {
    expect(inspectToken(candidate, body)).toEqual(expected);
  });
});
