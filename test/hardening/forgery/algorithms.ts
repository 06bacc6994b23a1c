import { generateKeyPairSync, sign } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { assembled, type Case, genuine, SECRET, segment, sent, signed, text, tokenOf } from './forged.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const rsaPem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const [, , signature = ''] = genuine.split('.');

function edToken(): string {
  const input = `${segment('{"alg":"EdDSA"}')}.${segment(text)}`;
  return `${input}.${sign(null, Buffer.from(input), ed.privateKey).toString('base64url')}`;
}

const NONES = ['none', 'None', 'NONE', 'nOnE', 'none ', 'non\\u0065'];

/** Tokens that say they are of another algorithm, or of none. */
export const algorithms: readonly Case[] = [
  ...NONES.map((alg) =>
    sent(`alg "${alg}" without a signature`, assembled(`{"alg":"${alg}","typ":"JWT"}`, text, '')),
  ),
  ...NONES.slice(0, 4).map((alg) =>
    sent(`alg "${alg}" with the right HMAC`, signed(`{"alg":"${alg}","typ":"JWT"}`)),
  ),
  sent('alg none with the signature of the genuine token', assembled({ alg: 'none' }, text, signature)),
  sent('no alg at all, rightly signed', signed({ typ: 'JWT' })),
  sent('alg null, rightly signed', signed({ alg: null })),
  sent('alg an empty text, rightly signed', signed({ alg: '' })),
  sent('alg a list holding HS256, rightly signed', signed({ alg: ['HS256'] })),
  sent('alg an object, rightly signed', signed({ alg: { name: 'HS256' } })),
  sent('alg hs256 in lower case, rightly signed', signed({ alg: 'hs256' })),
  sent('alg HS256 with a space after it, rightly signed', signed({ alg: 'HS256 ' })),
  sent('alg HS256 with a zero byte after it, rightly signed', signed('{"alg":"HS256\\u0000"}')),
  sent('HS384 with the right secret', tokenOf(text, SECRET, { header: { alg: 'HS384' }, hmac: 'HS384' })),
  sent('HS512 with the right secret', tokenOf(text, SECRET, { header: { alg: 'HS512' }, hmac: 'HS512' })),
  sent('RS256 with a real key', jwt.sign(text, rsa.privateKey, { algorithm: 'RS256' })),
  sent('PS256 with a real key', jwt.sign(text, rsa.privateKey, { algorithm: 'PS256' })),
  sent('ES256 with a real key', jwt.sign(text, ec.privateKey, { algorithm: 'ES256' })),
  sent('EdDSA with a real key', edToken()),
  sent('HS256 keyed with a public key in PEM', signed({ alg: 'HS256' }, text, rsaPem)),
  sent('RS256 in the header, HMAC of the right secret', signed({ alg: 'RS256' })),
  sent('HS256 in the header, an RSA signature', rsaUnderHs256()),
];

function rsaUnderHs256(): string {
  const input = `${segment('{"alg":"HS256"}')}.${segment(text)}`;
  return `${input}.${sign('sha256', Buffer.from(input), rsa.privateKey).toString('base64url')}`;
}
