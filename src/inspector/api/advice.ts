import { isRejection, type Result } from '../watch/request-results.ts';

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
