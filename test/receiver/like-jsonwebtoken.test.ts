import type { KeyObject } from 'node:crypto';
import { expect, test } from '@jest/globals';
import jsonwebtoken from 'jsonwebtoken';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { parseJsonObject } from '../../src/notification/json.ts';
import { keyOf, verifyNotification } from '../../src/notification/token.ts';
import { type Keys, type Limits, verdictOn } from '../../src/receiver/verdict.ts';
import { oddTokens, type Secrets, type Sent } from '../support/odd-tokens.ts';
import { simpleJsonText } from '../support/simple-json.ts';
import { size } from '../support/sizes.ts';

// What jsonwebtoken accepts is accepted, and nothing else: our verification is held against `jwt.verify` and a plain comparison
// of claims and body, over tokens that are wrong in one way or another. The only differences are the ones of EXCEPTIONS.

/** Each run has other tokens. ODD_TOKENS=1000000 tries a million in one run, which takes three minutes. */
const TOKENS = size({ small: 4000, full: Number(process.env.ODD_TOKENS ?? 150_000) });
/** On a machine that does much else. */
const LONGEST_MS = 3_600_000;

const secrets: Secrets = {
  own: ['a-secret-of-at-least-thirty-two-bytes', 'the one before'],
  other: 'the secret of another webhook',
  unknown: 'a secret of nobody',
};
const [own, other] = [secrets.own.map(keyOf), [keyOf(secrets.other)]];
const byWebhook = new Map([
  ['2yW4KmiG', own],
  ['7Rav0hC5', other],
]);
const keysFor = (webhookId: string): readonly KeyObject[] => byWebhook.get(webhookId) ?? [];
/** With few keys all of them are tried on a token of a throttled source, and with many those of the webhook that it claims. */
const fewKeys: Keys = { keysFor, everyKey: () => [...own, ...other], mostKeys: 2 };
const manyKeys: Keys = { ...fewKeys, everyKey: () => undefined };
const OPEN: Limits = { bodyLimit: 65_536, isShuttingDown: false, isOverloaded: false, isThrottled: false };

/** Why tokens that jsonwebtoken accepts are refused all the same, each said without our reader. */
const EXCEPTIONS = {
  'the header is not I-JSON: members twice, inexact numbers, not UTF-8': ({ token }) =>
    !isIJson(segmentOf(token, 0)),
  'the header has a member crit, of which nothing is understood here': ({ token }) =>
    'crit' in JSON.parse(segmentOf(token, 0).toString()),
  'the claims are not I-JSON': ({ token }) => !isIJson(segmentOf(token, 1)),
  'the body is not I-JSON': ({ body }) => !isIJson(body),
} satisfies Record<string, (sent: Sent) => boolean>;
/** Times are claims like any other: the provider sends none, and a body may have members of these names. */
const TIMES_COUNT_NOT = 'the claims have expired or are not valid yet';

function segmentOf(token: string, index: number): Buffer {
  return Buffer.from(token.split('.')[index] ?? '', 'base64url');
}

function isIJson(bytes: Buffer): boolean {
  try {
    simpleJsonText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** A JSON value as a text that does not depend on the order of members; undefined if a text is no JSON object. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = Object.entries(value).map(([name, inner]) => [name, sorted(inner)] as const);
  return Object.fromEntries(members.sort(([one], [next]) => (one < next ? -1 : 1)));
}

function objectOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What `jwt.verify` and equality say: claims that equal the body under a key of the webhook that the body names. */
function theirs({ body, token }: Sent): 'accepted' | 'refused' | typeof TIMES_COUNT_NOT {
  const value = objectOf(body.toString());
  if (!value) return 'refused';
  const webhookId = 'webhook_id' in value && typeof value.webhook_id === 'string' ? value.webhook_id : '';
  for (const key of keysFor(webhookId)) {
    const claims = claimsUnder(token, key, {});
    const anyTime = claims ?? claimsUnder(token, key, { ignoreExpiration: true, ignoreNotBefore: true });
    if (anyTime === undefined) continue;
    const isEqual = JSON.stringify(sorted(anyTime)) === JSON.stringify(sorted(value));
    if (!isEqual) return 'refused';
    return claims === undefined ? TIMES_COUNT_NOT : 'accepted';
  }
  return 'refused';
}

function claimsUnder(token: string, key: KeyObject, times: jsonwebtoken.VerifyOptions): object | undefined {
  try {
    const claims: unknown = jsonwebtoken.verify(token, key, { algorithms: ['HS256'], ...times });
    return typeof claims === 'object' && claims !== null && !Array.isArray(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

/** Our verdict on a request, as it comes and from a source that is throttled, and the verification of what is read already. */
function ours({ body, token }: Sent, number: number): readonly boolean[] {
  const head = {
    method: 'POST',
    token,
    contentLength: body.length,
    contentEncoding: undefined,
    isChunked: false,
  };
  const keys = number % 8 < 4 ? fewKeys : manyKeys;
  // Each way is tried on many tokens of each kind: all of them on each would take twice as long.
  const verdicts = [false, ...(number % 4 === 0 ? [true] : [])].map(
    (isThrottled) => verdictOn({ head, body }, keys, { ...OPEN, isThrottled }).type === 'accepted',
  );
  return number % 4 === 1 ? [...verdicts, ...verified({ body, token }, number % 8 < 4)] : verdicts;
}

function verified({ body, token }: Pick<Sent, 'body' | 'token'>, hasText: boolean): readonly boolean[] {
  try {
    const { text, value } = parseJsonObject(body);
    const keys = keysFor(typeof value.webhook_id === 'string' ? value.webhook_id : '');
    return [verifyNotification(token, value, keys, hasText ? text : undefined) === undefined];
  } catch (error) {
    if (error instanceof SyntaxError) return []; // no value of which there is a token
    throw error;
  }
}

test(
  'a token is accepted, however it was changed, where jsonwebtoken accepts it with equal claims, and nowhere else',
  () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const next = oddTokens(seededRandom(seed), secrets);
    const seen = new Map<string, number>();
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
    for (let number = 0; number < TOKENS; number++) {
      const sent = next();
      const verdict = theirs(sent);
      const reason = Object.entries(EXCEPTIONS).find(
        ([, applies]) => verdict !== 'refused' && applies(sent),
      )?.[0];
      const isExpected = verdict !== 'refused' && reason === undefined;
      count(reason ?? verdict);
      const given = ours(sent, number);
      if (given.some((isAccepted) => isAccepted !== isExpected)) {
        const { body, token, changes } = sent;
        throw new Error(
          `of seed ${seed}, number ${number} (${changes.join(', ')}): ${JSON.stringify({ verdict, reason, given })}\n` +
            `${JSON.stringify(token)}\n${JSON.stringify(body.toString('latin1'))}`,
        );
      }
    }
    // Otherwise the tokens would show nothing, or an exception is none. Some are rare.
    const everyOne = ['accepted', 'refused', TIMES_COUNT_NOT, ...Object.keys(EXCEPTIONS)];
    for (const what of size({ small: ['accepted', 'refused'], full: everyOne })) {
      expect({ seed, what, seen: seen.get(what) ?? 0 }).not.toMatchObject({ seen: 0 });
    }
    expect({ seed, isMuchAccepted: (seen.get('accepted') ?? 0) > TOKENS / 10 }).toMatchObject({
      isMuchAccepted: true,
    });
  },
  LONGEST_MS,
);
