import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import jwt from 'jsonwebtoken';
import { canonicalJson, digestOf, firstDifference, parseBody } from '../../src/notification/json.ts';
import { KINDS, type Kind, kindNames } from '../../src/notification/kinds.ts';
import { eventTimeOf, problemIn, resourceOf } from '../../src/notification/payload.ts';
import { keyOf, verifyNotification } from '../../src/notification/token.ts';
import { tokenOf } from '../support/hs256.ts';
import { jsonObject, jsonValue, shuffled } from '../support/json-values.ts';

test('the first difference of any value and one with a single change is where it was changed', () => {
  fc.assert(
    fc.property(jsonObject, jsonValue, jsonValue, (any, one, other) => {
      const [before, after] = [one, other].map((deep) => ({ ...any, at: [1, { deep }] }));
      const difference = firstDifference(before, shuffled(after));
      if (isDeepStrictEqual(one, other)) expect(difference).toBeUndefined();
      else expect(difference).toMatch(/^\/at\/1\/deep/);
    }),
  );
});

describe('the digest of a notification', () => {
  const hex = (body: object) => digestOf({ ...body }).toString('hex');

  // The canonical texts are written by hand; the hashes were also computed with another program (Python's hashlib).
  test.each([
    [
      '{"text":"\\u00e4 😀 \\"\\\\\\n","number":1.50e3,"webhook_id":{},"list":[3,1,2,{"b":false,"a":null}]}',
      '{"list":[3,1,2,{"a":null,"b":false}],"number":1500,"text":"ä 😀 \\"\\\\\\n"}',
      '98f71b963cf4afae3a797797f809433221a56f62359e139c3c204ef1cea55960',
    ],
  ])('of %s, by hand, is the SHA-256 of %s', (body, canonical, expected) => {
    const { webhook_id: _, ...event } = JSON.parse(body);
    expect([hex(JSON.parse(body)), canonicalJson(event)]).toEqual([expected, canonical]);
    expect(createHash('sha256').update(canonical, 'utf8').digest('hex')).toBe(expected);
  });

  test('of any body is the same with any webhook_id and order of members, and another with anything else changed', () => {
    fc.assert(
      fc.property(jsonObject, jsonValue, jsonValue, (event, one, other) => {
        const before = { ...event, at: [1, { deep: one }] };
        expect(hex({ ...(shuffled(before) as object), webhook_id: other })).toBe(
          hex({ ...before, webhook_id: one }),
        );
        const after = { ...event, at: [1, { deep: other }] };
        expect(hex(after) === hex(before)).toBe(isDeepStrictEqual(one, other));
      }),
    );
  });

  test('is the same of 0 and -0, which RFC 8785 both writes as 0, and they are no difference', () => {
    expect(hex(JSON.parse('{"number":-0}'))).toBe(hex({ number: 0 }));
    expect(firstDifference(JSON.parse('{"number":-0}'), { number: 0 })).toBeUndefined();
  });
});

/** The table of events of the provider's specification: the kind, its group of handlers, and the ids beside the common members. */
const SPECIFICATION = [
  ['media_created', 'media', ['media_id']],
  ['media_available', 'media', ['media_id']],
  ['conversions_complete', 'media', ['media_id']],
  ['media_updated', 'media', ['media_id']],
  ['media_reuploaded', 'media', ['media_id']],
  ['media_deleted', 'media', ['media_id']],
  ['thumbnail_created', 'thumbnails', ['thumbnail_id', 'media_id']],
  ['thumbnail_deleted', 'thumbnails', ['thumbnail_id', 'media_id']],
  ['track_created', 'tracks', ['track_id', 'media_id']],
  ['track_deleted', 'tracks', ['track_id', 'media_id']],
  ['channel_created', 'channels', ['channel_id']],
  ['channel_active', 'channels', ['channel_id']],
  ['channel_idle', 'channels', ['channel_id']],
];
const common = { webhook_id: '2yW4KmiG', site_id: '9KboGBFu', event_time: '2024-08-27T00:20:57+00:00' };

function bodyOf(kind: Kind): Record<string, unknown> {
  const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, `${name}-1`]));
  return { event: kind, ...ids, ...common };
}

test('the table of kinds is that of the specification, in its order', () => {
  expect(Object.entries(KINDS).map(([kind, { group, ids }]) => [kind, group, ids])).toEqual(SPECIFICATION);
});

describe('a payload', () => {
  test.each(kindNames)('of %s is invalid and says why, when a member is missing or no text', (kind) => {
    for (const member of Object.keys(bodyOf(kind)).filter((name) => name !== 'event')) {
      for (const value of [undefined, null, 1, [], {}, ['a'], '']) {
        expect(problemIn({ ...bodyOf(kind), [member]: value })).toMatch(new RegExp(`^${member}: .+$`));
      }
    }
  });

  test.each<[unknown]>([['media_archived'], ['__proto__'], [undefined], [{ toString: null }]])(
    'whose event is %j, an unknown kind, is valid',
    (event) => {
      expect(problemIn({ event, anything: [1, 2] })).toBeUndefined();
    },
  );

  test.each([
    ...['x', '😀', 'i'.repeat(200)].map((id) => [id, true]),
    ...['', 'i'.repeat(201), 'a\u0000b', 'a\nb', '\u0085', '\ud83d', 'a\ude00b'].map((id) => [id, false]),
  ] as const)('whose id is %j is valid: %p', (media_id, isValid) => {
    expect(problemIn({ ...bodyOf('media_created'), media_id }) === undefined).toBe(isValid);
  });
});

test.each<[object, string | undefined]>([
  [{ event: 'thumbnail_created', thumbnail_id: 't1', media_id: 'm1' }, 'media:m1'],
  [{ event: 'channel_active', channel_id: 'c1', media_id: 'm1' }, 'channel:c1'],
  [{ event: 'media_created', channel_id: 'c1', media_id: 'm:1' }, 'media:m:1'],
  [{ event: 'a kind to come', media_id: 'm1', channel_id: 'c1' }, 'media:m1'],
  [{ media_id: ['m1'] }, undefined],
  [{ media_id: 'a\u0000' }, undefined],
  [{ event: 'media_created', media_id: '', channel_id: 'c1' }, undefined],
])('the resource of a notification of %j is %p', (body, resource) => {
  expect(resourceOf({ ...body })).toBe(resource);
});

test.each<[unknown, number | undefined]>([
  ['2024-08-27T00:20:57+00:00', Date.UTC(2024, 7, 27, 0, 20, 57)],
  ['2024-08-27T00:20:57Z', Date.UTC(2024, 7, 27, 0, 20, 57)],
  ['2024-08-26T18:50:57-05:30', Date.UTC(2024, 7, 27, 0, 20, 57)],
  ['2024-08-27T00:20:57.123456+00:00', Date.UTC(2024, 7, 27, 0, 20, 57, 123)],
  [undefined, undefined],
  ['yesterday', undefined],
  ['2024-08-27T00:20:57', undefined],
  ['2023-02-29T00:00:00+00:00', undefined],
  [['2024-08-27T00:20:57+00:00'], undefined],
])('the time of a notification %j is %p, and none where its payload is invalid', (event_time, expected) => {
  expect(eventTimeOf({ event_time })).toBe(expected);
  const isValid = problemIn({ ...bodyOf('media_created'), event_time }) === undefined;
  expect(isValid).toBe(expected !== undefined);
});

// Forgeries, one by one, are in test/hardening/forgeries.test.ts.
const secret = 'a-secret-of-at-least-thirty-two-bytes';
const keys = [keyOf(secret)];
const body = { event: 'channel_idle', channel_id: 't8JLGRl9', webhook_id: '2yW4KmiG', iat: 5, exp: 1 };
const text = JSON.stringify(body);

const check = (token: string, sent: string = text, live = keys) =>
  verifyNotification(token, parseBody(Buffer.from(sent)), live);

const refused: readonly (readonly [string, string, object])[] = [
  ['signed by another', tokenOf(text, 'another'), { reason: 'bad signature' }],
  ['of HS512', tokenOf(text, secret, { header: { alg: 'HS512' }, hmac: 'HS512' }), { reason: 'not HS256' }],
  [
    'with crit, signed by another',
    tokenOf(text, 'x', { header: { alg: 'HS256', crit: [] } }),
    { reason: 'critical header' },
  ],
  [
    'with a member less',
    tokenOf('{"event":"channel_idle"}', secret),
    { reason: 'claims differ', path: '/channel_id' },
  ],
  ['with claims that are no JSON', tokenOf('{', secret), { reason: 'malformed token' }],
  [
    'with a very long header',
    tokenOf(text, 'x', { header: `{"alg":"HS256","a":"${'a'.repeat(9000)}"}` }),
    { reason: 'malformed token' },
  ],
  ['that is none', 'x', { reason: 'malformed token' }],
];

test.each(refused)('a token is refused with the reason for its operator: %s', (_what, token, refusal) => {
  expect(check(token)).toEqual(refusal);
});

test('a token is refused with the reason that no key explains it, though another one would', () => {
  const unknown = tokenOf(text, 'not known yet');
  expect(check(unknown, text, [])).toEqual({ reason: 'no secret' });
  expect(check(unknown, text, [...keys, keyOf('not known yet')])).toBeUndefined();
});

test('a token that jsonwebtoken refuses is refused, though all else is right with it', () => {
  const refuse = jest.spyOn(jwt, 'verify').mockImplementation(() => {
    throw new jwt.JsonWebTokenError('refused');
  });
  expect(check(tokenOf(text, secret))).toEqual({ reason: 'malformed token' });
  refuse.mockRestore();
  expect(check(tokenOf(text, secret))).toBeUndefined();
});

test('an empty secret is refused, as everybody could sign with it', () => {
  expect(() => keyOf('')).toThrow(RangeError);
});
