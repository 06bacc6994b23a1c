import { createHmac } from 'node:crypto';
import { type Case, rightlySigned, SECRET, segment, sent, text } from './forged.ts';

const within = (more: string) => `${text.slice(0, -1)},${more}}`;

/** Bytes sent with a token over those very bytes, rightly signed. */
function signedBytes(name: string, body: Buffer, status = 400): Case {
  const input = `${segment('{"alg":"HS256","typ":"JWT"}')}.${body.toString('base64url')}`;
  return sent(
    name,
    `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`,
    body,
    status,
  );
}

/** The text with bytes in it that are not UTF-8. */
function withBytes(...bytes: readonly number[]): Buffer {
  return Buffer.concat([Buffer.from(`${text.slice(0, -1)},"note":"`), Buffer.from(bytes), Buffer.from('"}')]);
}

const nested = (depth: number) => within(`"note":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

/** Bodies that two readers could take differently: refused although rightly signed. */
export const bodies: readonly Case[] = [
  rightlySigned('no body', '', 400),
  rightlySigned('a body that is null', 'null', 400),
  rightlySigned('a body that is a list', `[${text}]`, 400),
  rightlySigned('a body that is a text', JSON.stringify(text), 400),
  rightlySigned('a body cut off', text.slice(0, -1), 400),
  rightlySigned('two objects in one body', text + text, 400),
  rightlySigned('a body with something after it', `${text}x`, 400),
  rightlySigned('a body with a comment', `/* */${text}`, 400),
  rightlySigned('a body with a trailing comma', `${text.slice(0, -1)},}`, 400),
  rightlySigned('a body in single quotes', text.replaceAll('"', "'"), 400),
  rightlySigned('a body with NaN', within('"note":NaN'), 400),
  rightlySigned('a body as a form', `event=media_available&body=${encodeURIComponent(text)}`, 400),
  rightlySigned('a member twice', within('"media_id":"MNYaMSQl"'), 400),
  rightlySigned('a member twice, once escaped', within('"\\u0065vent":"media_deleted"'), 400),
  rightlySigned('a member twice, deep inside', within('"note":[{"a":1,"a":2}]'), 400),
  rightlySigned('__proto__ twice', within('"__proto__":1,"__proto__":2'), 400),
  rightlySigned('a number beyond a double', within('"note":1e400'), 400),
  rightlySigned('a number that a double rounds', within('"note":9007199254740993'), 400),
  rightlySigned('a number of 5000 digits', within(`"note":${'9'.repeat(5000)}`), 400),
  rightlySigned('nesting 100 deep', nested(100), 400),
  rightlySigned('nesting 5000 deep', nested(5000), 400),
  rightlySigned('a byte order mark', `\uFEFF${text}`, 400),
  signedBytes('UTF-16', Buffer.from(text, 'utf16le')),
  signedBytes('a lone byte of UTF-8', withBytes(0xc3)),
  signedBytes('an overlong slash', withBytes(0xc0, 0xaf)),
  signedBytes('half a surrogate pair in bytes', withBytes(0xed, 0xa0, 0x80)),
  signedBytes('bytes past the end of Unicode', withBytes(0xf5, 0x80, 0x80, 0x80)),
  signedBytes('Latin-1', withBytes(0xe9)),
  rightlySigned('a zero byte in a text', within('"note":"\0"'), 400),
];
