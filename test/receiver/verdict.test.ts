import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { Keyring } from '../../src/receiver/keyring.ts';
import {
  bearerOf,
  type Complete,
  type Head,
  type Limits,
  throttled,
  type Verdict,
  verdictOn,
} from '../../src/receiver/verdict.ts';
import { notification, SECRET, WEBHOOK } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { jsonObject, shuffled, spaced } from '../support/json-values.ts';
import { singleChange } from '../support/single-change.ts';
import { runs } from '../support/sizes.ts';

const OTHER_SECRET = 'the secret of another webhook';
const keys = await keyring({ [WEBHOOK]: ['an older secret', SECRET], other: [OTHER_SECRET] });
const OPEN: Limits = { bodyLimit: 65_536, isShuttingDown: false, isOverloaded: false, isThrottled: false };
const text = JSON.stringify(notification());
const genuine = tokenOf(text, SECRET);

async function keyring(secrets: Readonly<Record<string, readonly string[]>>): Promise<Keyring> {
  const stored = Object.entries(secrets).flatMap(([webhookId, values]) =>
    values.map((secret) => ({ webhookId, secret, retireAt: undefined, createdAt: 0 })),
  );
  const store = { secrets: async () => stored, webhooksWithOwnSecret: async () => Object.keys(secrets) };
  const ring = new Keyring({ store, clock: new VirtualClock(), fallback: undefined });
  await ring.refresh();
  return ring;
}

/** A request as the provider sends it, but for what is given. */
function requestOf(body: Complete['body'], authorization: string, head: Partial<Head> = {}): Complete {
  const token = bearerOf(authorization);
  const contentLength = typeof body === 'string' ? Number.NaN : body.length;
  return {
    head: {
      method: 'POST',
      token,
      contentLength,
      contentEncoding: undefined,
      isChunked: false,
      ...head,
    },
    body,
  };
}

function judged(body: string | Buffer, token: string, limits: Limits = OPEN): Verdict {
  return verdictOn(requestOf(Buffer.from(body), `Bearer ${token}`), keys, limits);
}

/** What the sender learns from a verdict. */
function shownOf(verdict: Verdict): object {
  if (verdict.type === 'accepted') return { status: 200 };
  const { status, error, headers } = verdict;
  return { status, error, headers };
}

const UNVERIFIED = {
  status: 401,
  error: 'the notification could not be verified',
  headers: { 'WWW-Authenticate': 'Bearer' },
};

describe('a genuine notification', () => {
  test('is accepted with its text, its ids and its identity, when its token says the same', () => {
    expect(judged(text, genuine)).toMatchObject({
      type: 'accepted',
      notification: { body: text, webhookId: WEBHOOK, kind: 'media_available', resource: 'media:UUhbHm6C' },
    });
  });

  test('is accepted, however its members are ordered and spaced, whatever it says beside', () => {
    fc.assert(
      fc.property(jsonObject, (members) => {
        const body = { ...members, ...notification() };
        const token = tokenOf(JSON.stringify(shuffled(body)), SECRET);
        expect(judged(spaced(body), token)).toMatchObject({ type: 'accepted' });
      }),
      { numRuns: runs(300) },
    );
  });

  test('is accepted from a source that has failed too often, by its head and by its body', () => {
    const request = requestOf(Buffer.from(text), `Bearer ${genuine}`);
    const limits = { ...OPEN, isThrottled: true };
    expect(verdictOn({ head: request.head }, keys, limits)).toBeUndefined();
    expect(verdictOn(request, keys, limits)).toMatchObject({ type: 'accepted' });
  });
});

describe('a forgery', () => {
  test('is refused with one same answer, when anything in its body was changed, and the first difference is kept privately', () => {
    fc.assert(
      fc.property(singleChange(jsonObject), ({ before, after, pointer }) => {
        const [signed, sent] = [before, after].map((one) => JSON.stringify({ more: one, ...notification() }));
        const verdict = judged(sent ?? '', tokenOf(signed ?? '', SECRET));
        expect(shownOf(verdict)).toEqual(UNVERIFIED);
        const refusal = { reason: 'claims differ', path: `/more${pointer}`.slice(0, 200) };
        expect(verdict).toMatchObject({ isFailure: true, unverified: { refusal, webhookId: WEBHOOK } });
      }),
      { numRuns: runs(500) },
    );
  });

  test('is refused, whichever character of its token is another', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    fc.assert(
      fc.property(fc.nat(genuine.length - 1), fc.constantFrom(...letters), (index, letter) => {
        fc.pre(genuine[index] !== letter);
        const token = genuine.slice(0, index) + letter + genuine.slice(index + 1);
        expect(shownOf(judged(text, token))).toEqual(UNVERIFIED);
      }),
      { numRuns: runs(500) },
    );
  });

  test('is refused with one same answer, whatever secret, header and webhook it was made with, and whatever it claims', () => {
    const forger = fc.record({
      secret: fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom(OTHER_SECRET, 'an old secret', WEBHOOK)),
      header: fc.oneof(
        jsonObject,
        fc.constantFrom({ alg: 'none' }, { alg: 'HS512' }, { alg: 'HS256', kid: WEBHOOK }),
      ),
      hmac: fc.constantFrom('HS256', 'HS384', 'HS512'),
      webhook_id: fc.oneof(fc.constantFrom(WEBHOOK, 'stranger', '__proto__', null), fc.string()),
      claims: jsonObject,
    });
    fc.assert(
      fc.property(forger, ({ secret, header, hmac, webhook_id, claims }) => {
        fc.pre(secret !== SECRET && !(secret === OTHER_SECRET && webhook_id === 'other'));
        const body = JSON.stringify({ ...claims, webhook_id });
        const verdict = judged(body, tokenOf(body, secret, { header, hmac }));
        expect(shownOf(verdict)).toEqual(UNVERIFIED);
        const throttledVerdict = judged(body, tokenOf(body, secret, { header, hmac }), {
          ...OPEN,
          isThrottled: true,
        });
        expect([401, 429]).toContain(throttledVerdict.type === 'refused' && throttledVerdict.status);
      }),
      { numRuns: runs(500) },
    );
  });

  test('is never accepted and never an error of ours, whatever bytes stand in the header and in the body', () => {
    const authorization = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 60 }),
      fc.string({ unit: 'binary-ascii', maxLength: 60 }).map((some) => `Bearer ${some}`),
      fc.constant(`Bearer ${genuine}`),
    );
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      jsonObject.map((value) => Buffer.from(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(authorization, body, fc.boolean(), (header, bytes, isThrottled) => {
        const request = requestOf(bytes, header);
        const verdict = verdictOn(request, keys, { ...OPEN, isThrottled });
        expect(verdict).toMatchObject({ type: 'refused', isFailure: true });
        expect([400, 401, 429]).toContain(verdict.type === 'refused' && verdict.status);
        expect(JSON.stringify(shownOf(verdict))).not.toContain(genuine);
        expect(verdictOn(request, keys, { ...OPEN, isThrottled })).toEqual(verdict);
      }),
      { numRuns: runs(1000) },
    );
  });
});

describe('the table of answers', () => {
  /** Each row, from the first to the last: what makes it apply, and its answer. */
  const rows: readonly (readonly [object, number, string])[] = [
    [{ method: 'PUT' }, 405, 'only POST is allowed here'],
    [{ isShuttingDown: true }, 503, 'shutting down'],
    [{ isOverloaded: true }, 503, 'overloaded'],
    [{ contentLength: 65_537 }, 413, 'the body is too large'],
    [{ token: undefined }, 401, 'an Authorization header of the form "Bearer TOKEN" is needed'],
    [
      { token: tokenOf(text, 'made up'), isThrottled: true },
      429,
      'too many notifications that cannot be verified',
    ],
    [{ contentEncoding: 'gzip' }, 400, 'the body is compressed'],
    [{ body: 'too large' }, 413, 'the body is too large'],
    [{ body: 'cut off' }, 400, 'the body cannot be read'],
    [{ body: 'too many small chunks' }, 400, 'the body cannot be read'],
    [{ body: Buffer.from('no JSON') }, 400, 'the body is not valid JSON'],
    [{ token: tokenOf(text, 'made up') }, 401, 'the notification could not be verified'],
  ];

  test('is gone through from its first row to its last: the first that applies decides, whatever follows', () => {
    fc.assert(
      fc.property(fc.subarray([...rows.keys()]), (chosen) => {
        const { body, ...changes } = Object.assign(
          { body: Buffer.from(text) },
          ...chosen.toReversed().map((row) => rows[row]?.[0]),
        );
        const { head } = requestOf(Buffer.from(text), `Bearer ${genuine}`, changes);
        const verdict = verdictOn({ head, body }, keys, { ...OPEN, ...changes });
        const [, status, error] = rows[chosen[0] ?? -1] ?? [];
        if (status === undefined) expect(verdict).toMatchObject({ type: 'accepted' });
        else expect(verdict).toMatchObject({ type: 'refused', status, error });
      }),
      { numRuns: runs(1000) },
    );
  });

  test.each(rows.slice(0, 7))('decides by the head alone: %j', (changes, status) => {
    const { head } = requestOf(Buffer.from(text), `Bearer ${genuine}`, changes);
    expect(verdictOn({ head }, keys, { ...OPEN, ...changes })).toMatchObject({ status });
  });

  test('asks for the body, when the head does not decide', () => {
    const { head } = requestOf(Buffer.from(text), `Bearer ${tokenOf(text, 'made up')}`);
    expect(verdictOn({ head }, keys, OPEN)).toBeUndefined();
  });

  test('says that the rest is not read, when a body in chunks is refused by its head', () => {
    const { head } = requestOf(Buffer.from(text), 'Basic x', { isChunked: true });
    expect(verdictOn({ head }, keys, OPEN)).toMatchObject({ headers: { Connection: 'close' } });
  });

  test('puts 429 and Retry-After in place of 401, when a source has failed too often, and keeps the private reason', () => {
    const verdict = judged(text, tokenOf(text, 'made up'));
    if (verdict.type === 'accepted') throw new Error('a forgery was accepted');
    expect(throttled(verdict)).toMatchObject({
      status: 429,
      headers: { 'Retry-After': '60' },
      unverified: { refusal: { reason: 'bad signature' } },
    });
    expect(throttled(verdict).headers).not.toHaveProperty('WWW-Authenticate');
  });
});

describe('a body that says two things to two readers', () => {
  test.each([
    ['a member twice', '{"a":1,"a":1}', 'ambiguous'],
    ['a number beyond double precision', '{"a":12345678901234567890}', 'inexact'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'not valid UTF-8'],
    ['a list', '[]', 'not a JSON object'],
  ])('is refused with 400, though it is rightly signed: %s', (_what, body, problem) => {
    const verdict = judged(body, tokenOf(body.toString(), SECRET));
    expect(verdict).toMatchObject({ status: 400, error: expect.stringContaining(problem), isFailure: true });
  });
});
