import type { Refusal } from '../../notification/token.ts';
import type { Answered } from '../../observer.ts';

/** Advice for the operator about each rejection: a request that was refused for what it was. */
const ADVICE = {
  no_token: 'Not from the provider, or a proxy drops the Authorization header: let the proxy pass it on.',
  no_secret: 'This webhook has no stored secret: npx hookkit webhooks import --id ID --secret-file FILE.',
  malformed_token: 'Not a JWT, as "Authorization: Bearer TOKEN" should have: does a proxy rewrite it?',
  not_hs256: 'Signed in a way that the provider never uses. If one address repeats it, block that address.',
  critical_header: 'The token demands an extension of JWT, which the provider never does.',
  bad_signature:
    'Signed with another secret than the stored ones: import the right one if the webhook is yours; else the request is forged.',
  claims_differ:
    'The signature is right, and so is the secret: the body was changed on its way, by a proxy that rewrites JSON or an attacker.',
  throttled: 'This address failed too often within a minute (REJECT_LIMIT). What verifies is still accepted.',
  malformed_body: 'The body is not a JSON object in UTF-8: a proxy may change or compress it.',
  too_large: 'The body is over BODY_LIMIT. Notifications of the provider are far smaller.',
  wrong_method: 'Notifications come by POST; this was a browser, a scanner or a health check.',
} as const;

export type RejectionResult = keyof typeof ADVICE;

/** The result of a request on the webhook path: the label of the metric. `probe` is the doctor's, the last two are the service's own trouble. */
export type Result = (typeof OTHERS)[number] | RejectionResult;

const OTHERS = ['accepted', 'duplicate', 'probe', 'unavailable', 'failed'] as const;
export const results: readonly Result[] = [...OTHERS, ...Object.keys(ADVICE).filter(isRejection)];

export function isRejection(result: string): result is RejectionResult {
  return Object.hasOwn(ADVICE, result);
}

const BY_STATUS: Readonly<Record<number, Result>> = {
  400: 'malformed_body',
  401: 'no_token',
  405: 'wrong_method',
  413: 'too_large',
  429: 'throttled',
  503: 'unavailable',
};

/** Why a request could not be verified, as a result. */
export function rejectionResultOf({ reason }: Refusal): RejectionResult {
  return reason.toLowerCase().replaceAll(' ', '_') as RejectionResult;
}

/** A throttled request counts as throttled even if it has other faults: it was not examined further. */
export function resultOf({ status, recorded, refusal }: Answered): Result {
  if (recorded) return recorded.status;
  if (refusal?.reason === 'probe') return 'probe';
  return status === 401 && refusal ? rejectionResultOf(refusal) : (BY_STATUS[status] ?? 'failed');
}

/** @param result one of a later version has no advice here */
export function adviceOnRefused(result = '', { error = '', webhookId }: Partial<Answered> = {}): string {
  if (result === 'no_secret' && webhookId === '')
    return 'The notification names no webhook, so only WEBHOOK_SECRET could verify it. The provider always names one.';
  if (result === 'malformed_body' && error.includes('cannot be read'))
    return 'The request ended before its body had come: its client or a proxy was cut off, or too slow (REQUEST_TIMEOUT_MS).';
  return isRejection(result) ? ADVICE[result] : '';
}
