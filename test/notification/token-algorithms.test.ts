import { createPrivateKey, generateKeyPairSync, sign as signRaw } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import jwt from 'jsonwebtoken';
import { keyOf, verifyNotification } from '../../src/notification/token.ts';
import { anyCharacter } from '../support/any-character.ts';
import { hmacOf, segment, tokenOf } from '../support/hs256.ts';
import { runs } from '../support/sizes.ts';

const secret = 'a-secret-of-at-least-thirty-two-bytes';
const keys = [keyOf(secret)];
const body = { event: 'channel_idle', channel_id: 't8JLGRl9', webhook_id: '2yW4KmiG', site_id: '9KboGBFu' };
const text = JSON.stringify(body);

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const curves = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' } as const;

describe('a token of another algorithm', () => {
  test.each(['none', 'None', 'NONE', 'nOnE', ' none', 'none ', 'n\u006fne', 'null', ''])(
    'spelt %p, unsigned, with an empty or any signature, is refused',
    (alg) => {
      const input = `${segment(JSON.stringify({ alg, typ: 'JWT' }))}.${segment(text)}`;
      for (const signature of ['', hmacOf(input, secret), hmacOf(input, ''), 'AAAA']) {
        expect(verifyNotification(`${input}.${signature}`, body, keys)).toBeDefined();
        expect(verifyNotification(`${input}.${signature}`, body, [])).toBeDefined();
      }
      expect(verifyNotification(input, body, keys)).toEqual({ reason: 'malformed token' });
    },
  );

  test.each([[null], [0], [true], [['HS256']], [{ HS256: 1 }]])(
    'given as %j, which is no text, is refused',
    (alg) => {
      expect(verifyNotification(tokenOf(text, secret, { header: { alg } }), body, keys)).toBeDefined();
    },
  );

  test('not given at all, though the signature is right, is refused', () => {
    expect(verifyNotification(tokenOf(text, secret, { header: { typ: 'JWT' } }), body, keys)).toBeDefined();
  });

  test.each(['HS384', 'HS512'] as const)(
    '%s, signed with the right secret, is refused as not HS256',
    (alg) => {
      const token = tokenOf(text, secret, { header: { alg, typ: 'JWT' }, hmac: alg });
      expect(jwt.verify(token, secret, { algorithms: [alg] })).toEqual(body); // it is a good token of its kind
      expect(verifyNotification(token, body, keys)).toEqual({ reason: 'not HS256' });
    },
  );

  test.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const)(
    '%s, signed with a real key, is refused as not HS256',
    (alg) => {
      const token = jwt.sign(text, rsa.privateKey, { algorithm: alg });
      expect(jwt.verify(token, rsa.publicKey, { algorithms: [alg] })).toBeDefined();
      expect(verifyNotification(token, body, keys)).toEqual({ reason: 'not HS256' });
    },
  );

  test.each(['ES256', 'ES384', 'ES512'] as const)(
    '%s, signed with a real key, is refused as not HS256',
    (alg) => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: curves[alg] });
      const token = jwt.sign(text, privateKey, { algorithm: alg });
      expect(verifyNotification(token, body, keys)).toEqual({ reason: 'not HS256' });
    },
  );

  test('EdDSA, signed with a real key, is refused', () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const input = `${segment('{"alg":"EdDSA"}')}.${segment(text)}`;
    const signature = signRaw(null, Buffer.from(input), privateKey).toString('base64url');
    expect(verifyNotification(`${input}.${signature}`, body, keys)).toBeDefined();
  });

  test('HS256, when the secret is the text of a public key, is a secret like any other', () => {
    const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    expect(verifyNotification(tokenOf(text, pem), body, [keyOf(pem)])).toBeUndefined();
    const token = jwt.sign(text, createPrivateKey(rsa.privateKey.export({ type: 'pkcs8', format: 'pem' })), {
      algorithm: 'RS256',
    });
    expect(verifyNotification(token, body, [keyOf(pem)])).toEqual({ reason: 'not HS256' });
  });

  test('of any other name, though the signature is HMAC-SHA256 with the right secret, is refused', () => {
    const names = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom(
        'hs256',
        'Hs256',
        'HS256 ',
        ' HS256',
        'HS-256',
        'HS2565',
        'HS256\u0000',
        'HMAC',
        'dir',
        'A256KW',
      ),
    );
    fc.assert(
      fc.property(names, (alg) => {
        fc.pre(alg !== 'HS256');
        const token = tokenOf(text, secret, { header: { alg, typ: 'JWT' } });
        expect(verifyNotification(token, body, keys)).toBeDefined();
      }),
      { numRuns: runs(300) },
    );
  });

  test('is refused, whichever of several keys it was signed with', () => {
    const token = tokenOf(text, 'second', { header: { alg: 'HS512' }, hmac: 'HS512' });
    expect(verifyNotification(token, body, [keyOf('first'), keyOf('second')])).toEqual({
      reason: 'not HS256',
    });
  });
});

describe('a critical header', () => {
  test.each([[['exp']], [['b64']], [[]], ['exp'], [null], [0]])(
    'of %j, which is not understood, is refused although the signature is right',
    (crit) => {
      const token = tokenOf(text, secret, { header: { alg: 'HS256', crit, b64: true, exp: 1 } });
      expect(verifyNotification(token, body, keys)).toEqual({ reason: 'critical header' });
    },
  );
});

describe('a header that two readers could take differently', () => {
  test.each([
    '{"alg":"HS256","alg":"HS256"}',
    '{"alg":"none","alg":"HS256"}',
    '{"alg":"HS256","crit":["b64"],"crit":[]}',
  ])('such as %s, having a member twice, is refused although the signature is right', (header) => {
    expect(verifyNotification(tokenOf(text, secret, { header }), body, keys)).toBeDefined();
  });
});
