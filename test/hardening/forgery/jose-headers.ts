import { createHmac, generateKeyPairSync } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { type Case, OTHER, OTHER_WEBHOOK, SECRET, segment, sent, signed, text, tokenOf } from './forged.ts';

const FORGERS = 'a key that the forger chose';
const hs256 = { alg: 'HS256', typ: 'JWT' };
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rsaJwk = rsa.publicKey.export({ format: 'jwk' });
const octJwk = { kty: 'oct', alg: 'HS256', k: segment(FORGERS) };
const withRsa = (header: object) =>
  jwt.sign(text, rsa.privateKey, { algorithm: 'RS256', header: { alg: 'RS256', ...header } });
const byForger = (header: object) => signed({ ...hs256, ...header }, text, FORGERS);

/** Headers that ask the receiver to take its key, or its rules, from the token. */
export const joseHeaders: readonly Case[] = [
  sent('an embedded jwk that is symmetric', byForger({ jwk: octJwk })),
  sent('an embedded jwk of RSA, with its signature', withRsa({ jwk: rsaJwk })),
  sent('a jku that names a key set', byForger({ jku: 'http://127.0.0.1:9/keys.json' })),
  sent('an x5u that names a certificate', byForger({ x5u: 'http://127.0.0.1:9/cert.pem' })),
  sent(
    'an embedded x5c',
    withRsa({ x5c: [rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] }),
  ),
  sent('an x5t that names a certificate', byForger({ x5t: segment('thumbprint') })),
  sent(
    'a kid that names an empty file, signed with nothing',
    signed({ ...hs256, kid: '../../../../dev/null' }, text, ''),
  ),
  sent('a kid with SQL that selects the key', byForger({ kid: `' UNION SELECT '${FORGERS}' -- ` })),
  sent('a kid with a command', byForger({ kid: '| cat /etc/passwd' })),
  sent(
    'a kid that names another webhook, signed with its secret',
    signed({ ...hs256, kid: OTHER_WEBHOOK }, text, OTHER),
  ),
  sent('a kid named __proto__', byForger({ kid: '__proto__' })),
  sent('crit, rightly signed', signed({ ...hs256, crit: ['exp'], exp: 1 })),
  sent('an empty crit, rightly signed', signed({ ...hs256, crit: [] })),
  sent('b64 false with its crit, signed over the plain claims', unencoded()),
  sent('an encrypted token of five segments', `${segment('{"alg":"dir","enc":"A256GCM"}')}..aaaa.bbbb.cccc`),
  sent('a token within a token', signed({ ...hs256, cty: 'JWT' }, tokenOf(text, SECRET))),
  sent('alg twice, none and then HS256, rightly signed', signed('{"alg":"none","alg":"HS256"}')),
  sent('alg twice, HS256 and then none, rightly signed', signed('{"alg":"HS256","alg":"none"}')),
  sent('alg twice, once escaped, rightly signed', signed('{"\\u0061lg":"none","alg":"HS256"}')),
  sent('alg inherited through __proto__, rightly signed', signed('{"__proto__":{"alg":"HS256"}}')),
  sent('a header with a byte order mark, rightly signed', signed('\uFEFF{"alg":"HS256"}')),
  sent('a header that is a list, rightly signed', signed('[{"alg":"HS256"}]')),
  sent('a header that is null, rightly signed', signed('null')),
  sent('a header that is empty, rightly signed', signed('')),
  sent(
    'a header nested 200 deep, rightly signed',
    signed(`{"alg":"HS256","x":${'['.repeat(200)}${']'.repeat(200)}}`),
  ),
  sent('a header in UTF-16, rightly signed', utf16()),
];

function unencoded(): string {
  const header = segment('{"alg":"HS256","b64":false,"crit":["b64"]}');
  const signature = createHmac('sha256', SECRET).update(`${header}.${text}`).digest('base64url');
  return `${header}.${segment(text)}.${signature}`;
}

function utf16(): string {
  const header = Buffer.from('{"alg":"HS256"}', 'utf16le').toString('base64url');
  const input = `${header}.${segment(text)}`;
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`;
}
