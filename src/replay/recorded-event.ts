import type { JsonObject } from '../notification/json.ts';
import { eventId } from '../store/event-id.ts';
import { toVerified } from '../store/verified.ts';
import type { Recorded } from './recording-lines.ts';

/** A recorded notification that is to be sent. */
export interface Outgoing extends Recorded {
  /** the id of the event that was recorded, whatever is sent in its place */
  readonly id: string;
  readonly kind: string;
  readonly resource: string;
  readonly siteId: string;
  /** 0 where the notification has none */
  readonly eventTime: number;
  /** how much of the source was read up to here, in [0, 1]; undefined where nobody knows */
  readonly share: number | undefined;
}

/** What a recorded notification is about. */
export function outgoing(recorded: Recorded, value: JsonObject, share: number | undefined): Outgoing {
  const { digest, eventTime, kind, resource, siteId } = toVerified(value, recorded.body);
  return { ...recorded, id: eventId(eventTime, digest), eventTime, kind, resource, siteId, share };
}
