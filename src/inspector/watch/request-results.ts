import type { Answered } from '../../observer.ts';

/** What a request on the webhook path came to, with the reason where it was refused: the label of the metric. */
export const results = [
  'accepted',
  'duplicate',
  'no_token',
  'no_secret',
  'malformed_token',
  'not_hs256',
  'critical_header',
  'bad_signature',
  'claims_differ',
  'throttled',
  'malformed_body',
  'too_large',
  'wrong_method',
  'unavailable',
  'failed',
] as const;

export type Result = (typeof results)[number];

const BY_STATUS: Readonly<Record<number, Result>> = {
  400: 'malformed_body',
  401: 'no_token',
  405: 'wrong_method',
  413: 'too_large',
  429: 'throttled',
  503: 'unavailable',
};

/** A throttled one counts as that, whatever was wrong with it: it was not looked at any closer by its sender's fault. */
export function resultOf({ status, recorded, refusal }: Answered): Result {
  if (recorded) return recorded.status;
  if (status === 401 && refusal) return refusal.reason.toLowerCase().replaceAll(' ', '_') as Result;
  return BY_STATUS[status] ?? 'failed';
}

/** Whether somebody was turned away, other than for the service's own sake. */
export function isRejection(result: Result): boolean {
  return !['accepted', 'duplicate', 'unavailable', 'failed'].includes(result);
}
