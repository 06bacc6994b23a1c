import { type Case, changed, members, SECRET, sent, text, tokenOf } from './forged.ts';

/** Claims as text, rightly signed, sent with the genuine body or another one. */
function claiming(name: string, claims: string, body: string = text): Case {
  return sent(name, tokenOf(claims, SECRET), body);
}

const without = ({ site_id: _, ...rest }: typeof members) => JSON.stringify(rest);
const within = (more: string) => `${text.slice(0, -1)},${more}}`;

/** Rightly signed, and the claims are not the body. */
export const claims: readonly Case[] = [
  claiming('an added iat', within('"iat":1700000000')),
  claiming('an added exp that lies ahead', within('"exp":9999999999')),
  claiming('an added nbf', within('"nbf":0')),
  claiming('an added null', within('"note":null')),
  claiming('a member missing in the claims', without(members)),
  claiming('a member missing in the body', text, without(members)),
  claiming('no claims at all', '{}'),
  claiming('a body that is the claims of a wrapper', JSON.stringify({ body: members })),
  claiming('another value', changed({ media_id: 'MNYaMSQl' })),
  claiming('a value in another case', changed({ media_id: 'uuhbhm6c' })),
  claiming('a value with a space after it', changed({ media_id: `${members.media_id} ` })),
  claiming('a number for a text', changed({ note: 1 }), changed({ note: '1' })),
  claiming('true for 1', changed({ note: true }), changed({ note: 1 })),
  claiming('a list for a text', changed({ note: ['x'] }), changed({ note: 'x' })),
  claiming('an object for a list', changed({ note: { 0: 'x' } }), changed({ note: ['x'] })),
  claiming('an empty object for an empty list', changed({ note: {} }), changed({ note: [] })),
  claiming('a list in another order', changed({ note: [1, 2] }), changed({ note: [2, 1] })),
  claiming(
    'a composed letter for a decomposed one',
    changed({ note: '\u00e9' }),
    changed({ note: 'e\u0301' }),
  ),
  claiming(
    'half a surrogate pair for a replacement character',
    within('"note":"\\ud800"'),
    changed({ note: '\ufffd' }),
  ),
  claiming('a zero width space', changed({ media_id: `${members.media_id}\u200b` })),
  claiming('__proto__ in the claims only', within('"__proto__":{"admin":true}')),
  claiming('__proto__ in the body only', text, within('"__proto__":{"admin":true}')),
  claiming('constructor in the body only', text, within('"constructor":{"prototype":{"admin":true}}')),
  claiming('hasOwnProperty in the claims only', within('"hasOwnProperty":1')),
  claiming('toString in the body only', text, within('"toString":null')),
  claiming('a member twice in the claims', within('"media_id":"UUhbHm6C"')),
  claiming('a member twice in the claims, once escaped', within('"\\u006dedia_id":"UUhbHm6C"')),
  claiming('claims with a byte order mark', `\uFEFF${text}`),
  claiming('claims that are a list', `[${text}]`),
  claiming('claims that are a text', JSON.stringify(text)),
  claiming('a number beyond a double in the claims', within('"note":1e400'), changed({ note: null })),
  claiming(
    'a number that a double rounds in the claims',
    within('"note":9007199254740993'),
    changed({ note: 9007199254740992 }),
  ),
  claiming('claims nested 200 deep', within(`"note":${'['.repeat(200)}${']'.repeat(200)}`)),
];
