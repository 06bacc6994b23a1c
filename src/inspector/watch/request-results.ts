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

/** What somebody who runs the receiver can do about a rejection. */
const ADVICE: Readonly<Partial<Record<Result, string>>> = {
  no_token: 'Not from the provider, or a proxy in between drops the Authorization header: let it through.',
  no_secret:
    'No secret is stored for this webhook: npx hookkit webhooks import --id WEBHOOK_ID --secret-file FILE.',
  malformed_token:
    'Not a JWT. The provider sends "Authorization: Bearer TOKEN": look for a proxy that rewrites it.',
  not_hs256:
    'Signed in a way that the provider never uses. If it repeats from one address, block that address.',
  critical_header:
    'The token demands an extension of JWT that is not understood. The provider never sends one.',
  bad_signature:
    'Signed with another secret than the stored ones: import the right one if the webhook is yours; else it is forged.',
  claims_differ:
    'The body was changed on its way: look for a proxy that rewrites JSON. Else somebody tampered with it.',
  throttled:
    'This address failed too often within a minute (REJECT_LIMIT). What verifies is never throttled.',
  malformed_body: 'The body is no JSON object in UTF-8: something in between changes or compresses it.',
  too_large: 'The body is over BODY_LIMIT. Notifications of the provider are far smaller.',
  wrong_method:
    'Notifications come by POST; this was a browser, a scanner or a health check with the wrong path.',
};

export function adviceFor(result: Result): string {
  return (isRejection(result) && ADVICE[result]) || 'See the log.';
}
