import type { Outcome } from './send-once.ts';

/** How often and how patiently a call is tried. */
export interface RetryPolicy {
  /** Attempts in all. */
  readonly maxAttempts: number;
  /** First backoff in milliseconds; each further one may be twice as long. */
  readonly baseMs: number;
  /** Longest backoff in milliseconds. */
  readonly capMs: number;
  /** Longest wait that the provider may ask for, in milliseconds; asked for more, the call fails at once. */
  readonly maxWaitMs: number;
}

/**
 * Whether sending once more can help and cannot do harm.
 * @param isRepeatable whether carrying the request out twice is the same as once
 */
export function mayRepeat(outcome: Outcome, isRepeatable: boolean): boolean {
  if (outcome.kind === 'no answer') return isRepeatable || outcome.unseen;
  return outcome.status === 429 || (isRepeatable && outcome.status >= 500 && outcome.status !== 501);
}

/** Exponential backoff with full jitter. @param retries how many there were before */
export function backoff({ baseMs, capMs }: RetryPolicy, retries: number, random: () => number): number {
  return random() * Math.min(capMs, baseMs * 2 ** retries);
}

/**
 * How long the provider asks to wait, in milliseconds: `Retry-After` (seconds or a date, RFC 9110) or, once the limit is
 * exceeded, `X-RateLimit-Reset` (ISO 8601, or seconds since the epoch). Times count from the answer's own date, so that a
 * clock that is off does no harm.
 * @param now milliseconds since the epoch, for an answer without a date
 */
export function askedToWait(outcome: Outcome, now: number): number | undefined {
  if (outcome.kind === 'no answer') return undefined;
  const { headers, status } = outcome;
  const sent = timeOf(headers.get('date')) ?? now;
  const asked = retryAfterOf(headers.get('retry-after'), sent);
  if (asked !== undefined) return asked;
  const until = status === 429 ? timeOf(headers.get('x-ratelimit-reset')) : undefined;
  return until === undefined ? undefined : Math.max(0, until - sent);
}

/** All three forms of a date (RFC 9110, 5.6.7) begin with the day. Date.parse makes a date of `1.5` and of `-1`, too. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * How long a `Retry-After` asks to wait, in milliseconds: seconds or a date (RFC 9110, 10.2.3).
 * @param from what a date counts from, milliseconds since the epoch
 * @returns undefined without the header, and if it is neither
 */
export function retryAfterOf(header: string | null, from: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const until = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(until) ? undefined : Math.max(0, until - from);
}

function timeOf(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  const time = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text);
  return Number.isFinite(time) ? time : undefined;
}
