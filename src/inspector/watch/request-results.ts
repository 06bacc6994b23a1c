import type { Refusal } from '../../notification/token.ts';
import type { Answered } from '../../observer.ts';

/** The result of a request on the webhook path, by its reason if it was refused: the label of the metric. */
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

/** Why a request could not be verified, as a result. */
export function reasonOf({ reason }: Refusal): Result {
  return reason.toLowerCase().replaceAll(' ', '_') as Result;
}

/** A throttled request counts as throttled even if it has other faults: it was not examined further. */
export function resultOf({ status, recorded, refusal }: Answered): Result {
  if (recorded) return recorded.status;
  if (status === 401 && refusal) return reasonOf(refusal);
  return BY_STATUS[status] ?? 'failed';
}

/** Whether the request was refused for what it was, and not because of the service's own trouble. */
export function isRejection(result: Result): boolean {
  return !['accepted', 'duplicate', 'unavailable', 'failed'].includes(result);
}

/** Advice for the operator about each rejection. */
const ADVICE: Readonly<Partial<Record<Result, string>>> = {
  no_token: 'Not from the provider, or a proxy in between drops the Authorization header: let it through.',
  no_secret:
    'No secret is stored for this webhook: npx hookkit webhooks import --id WEBHOOK_ID --secret-file FILE.',
  malformed_token:
    'Not a JWT. The provider sends "Authorization: Bearer TOKEN": look for a proxy that rewrites it.',
  not_hs256: 'Signed in a way that the provider never uses. If one address repeats it, block that address.',
  critical_header:
    'The token demands an extension of JWT that is not understood. The provider never sends one.',
  bad_signature:
    'Signed with another secret than the stored ones: import the right one if the webhook is yours; else the request is forged.',
  claims_differ:
    'The body was changed on its way: look for a proxy that rewrites JSON, or an attacker tampered with it.',
  throttled:
    'This address failed too often within a minute (REJECT_LIMIT). A notification that verifies is never throttled.',
  malformed_body: 'The body is not a JSON object in UTF-8: a proxy may change or compress it.',
  too_large: 'The body is over BODY_LIMIT. Notifications of the provider are far smaller.',
  wrong_method:
    'Notifications come by POST; this was a browser, a scanner or a health check with the wrong path.',
};

/** Advice that depends on more than the result. */
function closerAdvice(result: Result, { error = '', webhookId }: Answered): string | undefined {
  if (result === 'no_secret' && webhookId === '')
    return 'The notification names no webhook: WEBHOOK_SECRET alone could verify it. The provider names one.';
  if (result !== 'malformed_body') return undefined;
  if (error.includes('cannot be read'))
    return 'The request ended before its body had come: its client or a proxy was cut off, or too slow (REQUEST_TIMEOUT_MS).';
  return undefined;
}

export function adviceFor(result: Result, answer: Answered): string {
  return closerAdvice(result, answer) ?? ((isRejection(result) && ADVICE[result]) || 'See the log.');
}
