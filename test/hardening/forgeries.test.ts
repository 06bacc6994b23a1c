import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import jwt from 'jsonwebtoken';
import { notification, PATH, SECRET } from '../support/genuine.ts';
import { hmacOf, segment, tokenOf } from '../support/hs256.ts';
import { postText, rawConnection, statusOf } from '../support/raw-http.ts';
import { type RunningService, runService } from '../support/running-service.ts';

const OTHER_WEBHOOK = 'hook0002';
const OTHER_SECRET = 'the-live-secret-of-webhook-hook0002';
const RETIRED_SECRET = 'the-retired-secret-of-webhook-hook0002';
/** A key that a forger chose, and puts into the header of a token or names there. */
const FORGERS = 'a key that the forger chose';

const members = notification();
const text = JSON.stringify(members);
const changed = (more: object) => JSON.stringify({ ...members, ...more });
const within = (more: string) => `${text.slice(0, -1)},${more}}`;
const genuine = tokenOf(text, SECRET);
const [header = '', claims = '', signature = ''] = genuine.split('.');
const input = `${header}.${claims}`;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** A token with another header, rightly signed unless another secret is given. */
const headed = (head: object | string, secret = SECRET) => tokenOf(text, secret, { header: head });
const hs256 = { alg: 'HS256', typ: 'JWT' };
/** Whatever stands before the signature of a token, rightly signed. */
const signed = (before: string) => `${before}.${hmacOf(before, SECRET)}`;
/** A body whose claims have all characters of base64, and need padding. */
const full = within('"note":"\u{1f600}???>>>~~"');
const base64 = Buffer.from(full).toString('base64');
/** The last character of a signature has two bits that mean nothing. */
const twin = String.fromCharCode(signature.charCodeAt(42) + 1);

/** What a forger sends in place of `Bearer TOKEN`, and its body where that is not the genuine one. */
type Forgery = readonly [name: string, authorization: string, body?: string | Buffer];
const bearer = (name: string, token: string, body?: string | Buffer): Forgery => [
  name,
  `Bearer ${token}`,
  body ?? text,
];
/** A whole notification, with its own token. */
const whole = (name: string, body: string, secret = SECRET) => bearer(name, tokenOf(body, secret), body);
/** Rightly signed claims that are not the body. */
const claiming = (name: string, said: string | Buffer, body = text) =>
  bearer(name, tokenOf(said, SECRET), body);

const forgeries: Readonly<Record<string, readonly Forgery[]>> = {
  'an algorithm': [
    bearer('"nOnE" without a signature', `${segment('{"alg":"nOnE"}')}.${claims}.`),
    bearer('none with the right signature', headed({ alg: 'none' })),
    bearer('in a list', headed({ alg: ['HS256'] })),
    bearer('HS512 with the right secret', tokenOf(text, SECRET, { header: { alg: 'HS512' }, hmac: 'HS512' })),
    bearer('RS256 with a real key', jwt.sign(text, rsa.privateKey, { algorithm: 'RS256' })),
    bearer('RS256 in the header, the right HMAC', headed({ alg: 'RS256' })),
    bearer(
      'HS256 keyed with a public key',
      headed(hs256, rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
    ),
  ],
  'a header that brings a key or rules': [
    bearer('an embedded jwk', headed({ ...hs256, jwk: { kty: 'oct', k: segment(FORGERS) } }, FORGERS)),
    bearer('a kid that names an empty file', headed({ ...hs256, kid: '../../../../dev/null' }, '')),
    bearer('a kid that names another webhook', headed({ ...hs256, kid: OTHER_WEBHOOK }, OTHER_SECRET)),
    bearer('crit, rightly signed', headed({ ...hs256, crit: ['exp'], exp: 1 })),
    bearer('alg inherited, rightly signed', headed('{"__proto__":{"alg":"HS256"}}')),
    bearer('that is no JSON, rightly signed', headed('HS256')),
  ],
  'a signature': [
    bearer('stripped with its dot', input),
    bearer('of the body alone', `${input}.${hmacOf(text, SECRET)}`),
    bearer('of another notification', tokenOf(changed({ media_id: 'MNYaMSQl' }), SECRET)),
    bearer('that means the same bytes, written otherwise', `${genuine.slice(0, -1)}${twin}`),
  ],
  'rightly signed base64url': [
    bearer(
      'with padded claims',
      signed(`${header}.${base64.replaceAll('+', '-').replaceAll('/', '_')}`),
      full,
    ),
    bearer('with the characters of base64', signed(`${header}.${base64.replaceAll('=', '')}`), full),
    bearer('with a segment more', signed(`${input}.`)),
  ],
  'a secret': [
    bearer('made up', tokenOf(text, 'made up')),
    bearer('of another webhook', tokenOf(text, OTHER_SECRET)),
    whole('of this webhook for another one', changed({ webhook_id: OTHER_WEBHOOK })),
    whole('retired', changed({ webhook_id: OTHER_WEBHOOK }), RETIRED_SECRET),
    ...[null, [members.webhook_id], '__proto__'].map((webhook_id) =>
      whole(`empty, for the webhook ${JSON.stringify(webhook_id)}`, changed({ webhook_id }), ''),
    ),
  ],
  'rightly signed claims': [
    claiming('with an added iat', within('"iat":1700000000')),
    claiming('with a member less', changed({ site_id: undefined })),
    claiming('with a value in another case', changed({ media_id: 'uuhbhm6c' })),
    claiming('with a number for a text', changed({ note: 1 }), changed({ note: '1' })),
    claiming('with an object for a list', changed({ note: { 0: 'x' } }), changed({ note: ['x'] })),
    claiming('with a composed letter', changed({ note: '\u00e9' }), changed({ note: 'e\u0301' })),
    claiming('with half a surrogate pair', within('"note":"\\ud83d"'), within('"note":"\ufffd"')),
    claiming('with __proto__, which the body has not', within('"__proto__":{"admin":true}')),
    claiming('without __proto__, which the body has', text, within('"__proto__":{"admin":true}')),
    claiming('that are not UTF-8', Buffer.from(within('"note":"\xff"'), 'latin1'), within('"note":"\uFFFD"')),
    claiming('that are a list', `[${text}]`),
  ],
  'an Authorization': [
    ['of nothing', ''],
    ['without Bearer', genuine],
    ['with Bearer twice', `Bearer Bearer ${genuine}`],
    ['beside a second one', `Bearer ${genuine}\r\nAuthorization: Bearer ${genuine}`],
    ['of Basic', `Basic ${Buffer.from(`:${genuine}`).toString('base64')}`],
  ],
};

/** Genuine, and different from what the provider sends: without these, a receiver that refuses everything would pass. */
const accepted: readonly Forgery[] = [
  bearer('the genuine notification', genuine),
  bearer('a body with escapes', genuine, text.replace('media_available', 'media\\u005favailable')),
  bearer('a kid in the header', headed({ ...hs256, kid: 'any' })),
  bearer('no typ in the header', headed({ alg: 'HS256' })),
  ['bearer in lower case', `bearer ${genuine}`],
  ['bearer in upper case, with two spaces', `BEARER  ${genuine}`],
  whole('a member named __proto__ in both', within('"__proto__":{"admin":true}')),
  whole('a member named exp in both, long past', changed({ exp: 1 })),
  whole('nesting 64 deep', within(`"note":${'['.repeat(63)}${']'.repeat(63)}`)),
];

let service: RunningService;
beforeAll(async () => {
  service = await runService({}, { REJECT_LIMIT: '1000000' });
  await service.store.secrets.add(OTHER_WEBHOOK, OTHER_SECRET);
  await service.store.secrets.add(OTHER_WEBHOOK, RETIRED_SECRET);
  await service.store.secrets.retire(OTHER_WEBHOOK, RETIRED_SECRET, 0);
});
afterAll(() => service.stop());

async function send([, authorization, body = text]: Forgery): Promise<string> {
  const headers = authorization === '' ? [] : [`Authorization: ${authorization}`];
  const head = postText(PATH, [...headers, `Content-Length: ${Buffer.byteLength(body)}`]);
  const connection = await rawConnection(service.port);
  connection.write(Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]));
  return connection.closed;
}

describe.each(Object.entries(forgeries))('%s', (_what, cases) => {
  test.each(cases.map((one) => [one[0], one] as const))('%s is refused with 401', async (_, one) => {
    const before = await service.store.queue.count({});
    const answer = await send(one);
    expect(statusOf(answer)).toBe(401);
    expect(answer).not.toMatch(/accepted|duplicate|node_modules|at \w+ \(|\.ts\b/);
    expect(await service.store.queue.count({})).toBe(before);
  });
});

test.each(accepted.map((one) => [one[0], one] as const))('%s is taken with 200', async (_, one) => {
  expect(statusOf(await send(one))).toBe(200);
});

test('all refusals for a token have one same text, whatever is wrong with it', async () => {
  const told = forgeries['a signature']?.concat(
    forgeries['a secret'] ?? [],
    forgeries['rightly signed claims'] ?? [],
  );
  const bodies = await Promise.all((told ?? []).map(async (one) => (await send(one)).split('\r\n\r\n')[1]));
  expect(new Set(bodies).size).toBe(1);
});
