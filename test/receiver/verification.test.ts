import { expect, test } from '@jest/globals';
import type { Answered } from '../../src/observer.ts';
import { notification, SECRET, sendWithToken, WEBHOOK } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { receiverForAllTests } from '../support/receiver-fixture.ts';

const answered: Answered[] = [];
const receiver = receiverForAllTests({
  observer: {
    answered: (answer) => void answered.push(answer),
    ran() {},
    committed() {},
  },
});
const body = notification();
const text = JSON.stringify(body);
const iat = JSON.stringify({ ...body, iat: 1 });
/** A notification that names another webhook, or none, with a token under the secret of WEBHOOK. */
const naming = (webhook_id: unknown): [object, string] => {
  const named = notification({ webhook_id });
  return [named, tokenOf(JSON.stringify(named), SECRET)];
};

/** What is wrong, the notification with its token, and what its operator is told; whole tables are in test/hardening. */
const REFUSED: readonly (readonly [string, object, string, object])[] = [
  ['its secret is another', body, tokenOf(text, 'another'), { reason: 'bad signature' }],
  ['it is unsigned', body, tokenOf(text, '', { header: { alg: 'none' } }), { reason: 'not HS256' }],
  [
    'it has crit',
    body,
    tokenOf(text, SECRET, { header: { alg: 'HS256', crit: [] } }),
    { reason: 'critical header' },
  ],
  ['it is no token', body, 'x', { reason: 'malformed token' }],
  ['it has an iat more', body, tokenOf(iat, SECRET), { reason: 'claims differ', path: '/iat' }],
  ['no secret is known for its webhook', ...naming('stranger'), { reason: 'no secret' }],
  ...[undefined, null, 7, [WEBHOOK], '__proto__'].map(
    (webhook) => [`its webhook is ${webhook}`, ...naming(webhook), { reason: 'no secret' }] as const,
  ),
];

test.each(REFUSED)(
  'a notification is refused, when %s, with 401 and the reason for its operator only',
  async (_what, sent, token, refusal) => {
    const { status, headers, text: answer } = await sendWithToken(receiver().app, sent, token);
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect(answer).toBe('{"error":"the notification could not be verified"}');
    expect(answered.at(-1)).toMatchObject({ refusal, status: 401, kind: 'media_available' });
    expect(await receiver().events()).toEqual([]);
  },
);

// Each of these is looked at after verification failed, and must not make that fail.
test.each([[{ toString: null }], [{}], [null], ['__proto__']])(
  'a notification is refused, when its event is %j, with 401',
  async (event) => {
    const token = tokenOf(JSON.stringify(notification({ event })), 'other');
    expect((await sendWithToken(receiver().app, notification({ event }), token)).status).toBe(401);
  },
);

test('all refusals are alike, but for their request ids', async () => {
  const told = REFUSED.map(async ([, sent, token]) => {
    const { headers } = await sendWithToken(receiver().app, sent, token);
    const { 'x-request-id': _id, date: _date, ...others } = headers;
    return JSON.stringify(others);
  });
  expect(new Set(await Promise.all(told)).size).toBe(1);
});
