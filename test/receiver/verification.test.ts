import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import jwt from 'jsonwebtoken';
import type { Answered } from '../../src/observer.ts';
import { notification, SECRET, sendWithToken } from '../support/genuine.ts';
import { hmacOf, segment, tokenOf } from '../support/hs256.ts';
import { receiverForAllTests } from '../support/receiver-fixture.ts';

const answered: Answered[] = [];
const receiver = receiverForAllTests({
  secrets: { '2yW4KmiG': [SECRET], '7Rav0hC5': ['the secret of another webhook'] },
  observer: {
    answered: (answer) => void answered.push(answer),
    ran() {},
    committed() {},
    secretsFound() {},
  },
});
const body = notification();
const text = JSON.stringify(body);
const genuine = tokenOf(text, SECRET);
const [header = '', claims = '', signature = ''] = genuine.split('.');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const unsigned = (alg: string) => `${segment(JSON.stringify({ alg, typ: 'JWT' }))}.${claims}`;
const altered = (members: object) => tokenOf(JSON.stringify({ ...body, ...members }), SECRET);

/** What each token is, the token, and what the log says of it. */
const REFUSED: readonly (readonly [string, string, object])[] = [
  ['signed with another secret', tokenOf(text, 'another secret'), { reason: 'bad signature' }],
  ['signed with an empty string', tokenOf(text, ''), { reason: 'bad signature' }],
  ['of another webhook', tokenOf(text, 'the secret of another webhook'), { reason: 'bad signature' }],
  ['with alg none and no signature', `${unsigned('none')}.`, { reason: 'not HS256' }],
  ['of the right header, with an empty signature', `${header}.${claims}.`, { reason: 'malformed token' }],
  ['with alg None and a signature', `${unsigned('None')}.${signature}`, { reason: 'not HS256' }],
  [
    'with alg NONE, rightly signed',
    `${unsigned('NONE')}.${hmacOf(unsigned('NONE'), SECRET)}`,
    { reason: 'not HS256' },
  ],
  ['HS384', tokenOf(text, SECRET, { header: { alg: 'HS384' }, hmac: 'HS384' }), { reason: 'not HS256' }],
  ['HS512', tokenOf(text, SECRET, { header: { alg: 'HS512' }, hmac: 'HS512' }), { reason: 'not HS256' }],
  ['RS256', jwt.sign(text, rsa.privateKey, { algorithm: 'RS256' }), { reason: 'not HS256' }],
  ['PS256', jwt.sign(text, rsa.privateKey, { algorithm: 'PS256' }), { reason: 'not HS256' }],
  ['ES256', jwt.sign(text, ec.privateKey, { algorithm: 'ES256' }), { reason: 'not HS256' }],
  [
    'with a crit header',
    tokenOf(text, SECRET, { header: { alg: 'HS256', crit: ['b64'], b64: true } }),
    { reason: 'critical header' },
  ],
  ['cut off', genuine.slice(0, -1), { reason: 'malformed token' }],
  ['without a signature', `${header}.${claims}`, { reason: 'malformed token' }],
  ['with a padded signature', `${genuine}=`, { reason: 'malformed token' }],
  ['the secret itself', SECRET, { reason: 'malformed token' }],
  ['no token at all', 'x', { reason: 'malformed token' }],
  ['with an extra iat', altered({ iat: 1_700_000_000 }), { reason: 'claims differ', path: '/iat' }],
  ['with an extra exp', altered({ exp: 9_999_999_999 }), { reason: 'claims differ', path: '/exp' }],
  ['for another media', altered({ media_id: 'MNYaMSQl' }), { reason: 'claims differ', path: '/media_id' }],
  ['without a member', altered({ site_id: undefined }), { reason: 'claims differ', path: '/site_id' }],
  [
    'with a member of another type',
    altered({ event_time: 1 }),
    { reason: 'claims differ', path: '/event_time' },
  ],
  ['for nothing', tokenOf('{}', SECRET), { reason: 'claims differ', path: '/event' }],
  ['for no object', tokenOf('null', SECRET), { reason: 'malformed token' }],
];

describe('a notification that cannot be verified', () => {
  test.each(REFUSED)(
    'is refused, when its token is %s, with 401 and the reason for its operator only',
    async (_what, token, refusal) => {
      const { app, events } = receiver();
      const response = await sendWithToken(app, body, token);
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer');
      expect(response.text).toBe('{"error":"the notification could not be verified"}');
      const kind = 'media_available';
      expect(answered.at(-1)).toMatchObject({ refusal, status: 401, webhookId: '2yW4KmiG', kind });
      expect(await events()).toEqual([]);
    },
  );

  test('is refused, when no secret is known for its webhook, with the very same answer', async () => {
    const { app } = receiver();
    const stranger = notification({ webhook_id: 'stranger' });
    const response = await sendWithToken(app, stranger, tokenOf(JSON.stringify(stranger), SECRET));
    expect([response.status, response.text]).toEqual([
      401,
      '{"error":"the notification could not be verified"}',
    ]);
    expect(answered.at(-1)).toMatchObject({ refusal: { reason: 'no secret' }, webhookId: 'stranger' });
  });

  test.each([
    { webhook_id: undefined },
    { webhook_id: null },
    { webhook_id: 7 },
    { webhook_id: ['2yW4KmiG'] },
    { webhook_id: '__proto__' },
  ])('is refused, when it names no webhook: %j, with the very same answer', async (members) => {
    const nameless = notification(members);
    const response = await sendWithToken(receiver().app, nameless, tokenOf(JSON.stringify(nameless), SECRET));
    expect([response.status, response.text]).toEqual([
      401,
      '{"error":"the notification could not be verified"}',
    ]);
  });

  // Each of these is of a kind that is looked at after verification failed, and must not make that fail.
  test.each([[{ toString: null }], [{ toString: 1, valueOf: 1 }], [{}], [null], ['__proto__']])(
    'is refused, when its event is %j, with 401',
    async (event) => {
      const strange = notification({ event });
      const response = await sendWithToken(
        receiver().app,
        strange,
        tokenOf(JSON.stringify(strange), 'other'),
      );
      expect(response.status).toBe(401);
    },
  );

  test('answers alike, compared with every other refusal, but for its request id', async () => {
    const headersOf = async (token: string) => {
      const { headers } = await sendWithToken(receiver().app, body, token);
      const { 'x-request-id': _id, date: _date, ...others } = headers;
      return others;
    };
    const all = await Promise.all(REFUSED.map(([, token]) => headersOf(token)));
    expect(new Set(all.map((headers) => JSON.stringify(headers))).size).toBe(1);
  });
});
