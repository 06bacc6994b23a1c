import { createHash, createHmac } from 'node:crypto';
import {
  type Case,
  changed,
  genuine,
  OTHER,
  OTHER_WEBHOOK,
  post,
  RETIRED,
  SECRET,
  segment,
  sent,
  text,
  tokenOf,
  WEBHOOK,
} from './forged.ts';

const [header = '', claims = '', signature = ''] = genuine.split('.');
const input = `${header}.${claims}`;
const bytes = Buffer.from(signature, 'base64url');

/** The same 32 bytes, written with the two bits set that base64url leaves over. */
function looseBits(): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(signature.at(-1) ?? '');
  return `${input}.${signature.slice(0, -1)}${alphabet[last + 1]}`;
}

/** A genuine token with a letter that the two alphabets of base64 write differently, and its body. */
function inClassicBase64(name: string, part: 1 | 2): Case {
  for (let number = 0; ; number++) {
    const body = changed({ note: `?>~${number}` });
    const parts = tokenOf(body, SECRET).split('.');
    const classic = (parts[part] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    if (classic === parts[part]) continue;
    parts[part] = classic;
    if (part === 1) {
      parts[2] = createHmac('sha256', SECRET).update(`${parts[0]}.${classic}`).digest('base64url');
    }
    return sent(name, parts.join('.'), body);
  }
}

function changedBit(): string {
  const other = Buffer.from(bytes);
  other.writeUInt8(other.readUInt8(7) ^ 1, 7);
  return `${input}.${other.toString('base64url')}`;
}

/** Signatures that are gone, changed, or written in another way than the one that was agreed on. */
export const signatures: readonly Case[] = [
  sent('the signature stripped, with its dot', input),
  sent('the signature stripped, its dot left', `${input}.`),
  sent('the claims stripped', `${header}..${signature}`),
  sent('the header stripped', `.${claims}.${signature}`),
  sent('the signature cut by one character', genuine.slice(0, -1)),
  sent('the signature with one character more', `${genuine}A`),
  sent('one bit of the signature changed', changedBit()),
  sent('the loose bits of the last character set', looseBits()),
  sent('the signature padded', `${genuine}=`),
  sent('the header padded', genuine.replace('.', '==.')),
  inClassicBase64('the signature in the other alphabet of base64', 2),
  inClassicBase64('the claims in the other alphabet of base64, signed so', 1),
  sent('the signature in hex', `${input}.${bytes.toString('hex')}`),
  sent('the signature in upper case', `${input}.${signature.toUpperCase()}`),
  sent('a signature of zero bytes', `${input}.${Buffer.alloc(32).toString('base64url')}`),
  sent(
    'a signature of the body itself',
    `${input}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`,
  ),
  sent('a plain hash for a signature', `${input}.${createHash('sha256').update(input).digest('base64url')}`),
  sent(
    'a hash of secret and input for a signature',
    `${input}.${createHash('sha256')
      .update(SECRET + input)
      .digest('base64url')}`,
  ),
  sent('the token twice', `${genuine}.${genuine}`),
  sent('a fourth segment', `${genuine}.${segment('x')}`),
  sent('the dots written as %2E', genuine.replaceAll('.', '%2E')),
  sent('the genuine token quoted', `"${genuine}"`),
  {
    name: 'a letter beyond ASCII in the token',
    status: 401,
    request: post([`Authorization: Bearer ${genuine}\u00e9`], text),
  },
  {
    name: 'a zero byte in the token',
    status: 400,
    request: post([`Authorization: Bearer ${genuine}\0`], text),
  },
  sent('the genuine token of another notification', tokenOf(changed({ media_id: 'MNYaMSQl' }), SECRET)),
];

/** Tokens that are well made and signed with what is no live secret of this webhook. */
export const secrets: readonly Case[] = [
  sent('a secret that somebody made up', tokenOf(text, 'made up')),
  sent('an empty secret', tokenOf(text, '')),
  sent('a retired secret', tokenOf(text, RETIRED)),
  sent('the secret of another webhook', tokenOf(text, OTHER)),
  sent(
    'another webhook named, this one’s secret',
    tokenOf(changed({ webhook_id: OTHER_WEBHOOK }), SECRET),
    changed({ webhook_id: OTHER_WEBHOOK }),
  ),
  sent('another webhook named in the claims only', tokenOf(changed({ webhook_id: OTHER_WEBHOOK }), OTHER)),
  sent('the secret with a line end', tokenOf(text, `${SECRET}\n`)),
  sent('the secret in base64', tokenOf(text, Buffer.from(SECRET).toString('base64'))),
  sent('the secret in upper case', tokenOf(text, SECRET.toUpperCase())),
  sent('the webhook’s id as secret', tokenOf(text, WEBHOOK)),
  sent('the word undefined as secret', tokenOf(text, 'undefined')),
  sent('the secret itself in place of a token', SECRET),
  ...[
    undefined,
    null,
    7,
    [WEBHOOK],
    { id: WEBHOOK },
    '__proto__',
    'constructor',
    ` ${WEBHOOK}`,
    `${WEBHOOK}\0`,
    WEBHOOK.toUpperCase(),
  ].map((webhook_id) => {
    const body = changed({ webhook_id });
    return sent(
      `webhook_id ${JSON.stringify(webhook_id) ?? 'missing'}, signed with a live secret`,
      tokenOf(body, SECRET),
      body,
    );
  }),
];
