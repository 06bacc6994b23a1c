import { cut } from '../base/text.ts';
import { digestOf, type JsonObject } from '../notification/json.ts';
import { eventTimeOf, resourceOf } from '../notification/payload.ts';
import { eventId, type VerifiedNotification } from './stored.ts';

const LONGEST_LABEL = 200;

/** A notification as it is recorded: its text, and the columns by which events are found and ordered. */
export function toVerified(body: JsonObject, text: string): VerifiedNotification {
  const eventTime = eventTimeOf(body) ?? 0;
  const id = eventId(eventTime, digestOf(body));
  return {
    id,
    eventTime,
    kind: label(body.event),
    webhookId: label(body.webhook_id),
    siteId: label(body.site_id),
    resource: resourceOf(body) ?? `event:${id}`,
    body: text,
  };
}

/** A stranger's text as a column or in the log, such as a member: a kind that is not known yet may hold anything. The body keeps it in full. */
export function label(member: unknown): string {
  if (typeof member !== 'string') return '';
  return cut(member, LONGEST_LABEL).replace(/[\p{Cc}\p{Cs}]/gu, '\uFFFD');
}
