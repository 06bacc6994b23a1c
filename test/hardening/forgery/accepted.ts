import {
  type Case,
  changed,
  genuine,
  members,
  post,
  rightlySigned,
  SECRET,
  sent,
  signed,
  text,
  tokenOf,
} from './forged.ts';

const OK = 200;
const within = (more: string) => `${text.slice(0, -1)},${more}}`;
const reordered = JSON.stringify(Object.fromEntries(Object.entries(members).reverse()));

/** What differs from the usual and is genuine all the same: without these, a receiver that refuses everything would pass. */
export const accepted: readonly Case[] = [
  sent('the genuine notification', genuine, text, OK),
  sent('its body in another order', genuine, reordered, OK),
  sent('its body with spaces', genuine, JSON.stringify(members, null, 2), OK),
  sent('its body with escapes', genuine, text.replace('media_available', 'media\\u005favailable'), OK),
  sent('a kid in the header', signed({ alg: 'HS256', kid: 'any' }), text, OK),
  sent('no typ in the header', signed({ alg: 'HS256' }), text, OK),
  { name: 'bearer in lower case', status: OK, request: post([`authorization: bearer ${genuine}`], text) },
  {
    name: 'three spaces after Bearer',
    status: OK,
    request: post([`Authorization: Bearer   ${genuine}`], text),
  },
  { name: 'a space after the token', status: OK, request: post([`Authorization: Bearer ${genuine} `], text) },
  rightlySigned('a member named __proto__ in both', within('"__proto__":{"admin":true}'), OK),
  rightlySigned('a member named constructor in both', within('"constructor":{"prototype":1}'), OK),
  rightlySigned('half a surrogate pair, escaped, in both', within('"note":"\\ud800"'), OK),
  rightlySigned('nesting 60 deep', within(`"note":${'['.repeat(60)}${']'.repeat(60)}`), OK),
  sent('1 for 1.0, which are one number', tokenOf(within('"note":1.0'), SECRET), changed({ note: 1 }), OK),
];
