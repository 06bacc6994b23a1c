import type { VerifiedNotification } from '../../src/store/event-store.ts';
import { toVerified } from '../../src/store/stored.ts';

/** When the events of tests happen unless they say otherwise: before the virtual clock's start. */
export const EVENT_TIME = Date.UTC(2025, 11, 31);

interface Members {
  /** milliseconds since the epoch; becomes `event_time` */
  readonly at?: number;
  readonly [member: string]: unknown;
}

/** A notification as the receiver records it once it is verified. */
export function verified({ at = EVENT_TIME, ...members }: Members = {}): VerifiedNotification {
  return verifiedBody({
    event: 'media_available',
    webhook_id: 'webhook-1',
    site_id: 'site-1',
    media_id: 'media-1',
    event_time: new Date(at).toISOString(),
    ...members,
  });
}

/** The same of exactly these members. */
export function verifiedBody(body: { readonly [member: string]: unknown }): VerifiedNotification {
  return toVerified(body, JSON.stringify(body));
}
