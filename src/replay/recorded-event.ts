import type { JsonObject } from '../notification/json.ts';
import type { EventFilter, VerifiedNotification } from '../store/event-store.ts';
import { isWithin } from '../store/filters.ts';
import { toVerified } from '../store/verified.ts';
import type { Recorded } from './recording-lines.ts';

/** A recorded event for a replay. */
export interface RecordedEvent extends Recorded, Omit<VerifiedNotification, 'id'> {
  /** the id of the event as it was recorded, even if its body is changed for the replay */
  readonly id: string;
  /** how much of the source was read up to this event, in [0, 1]; undefined if unknown */
  readonly share: number | undefined;
}

/** The event of a recording's line. */
export function recordedEvent(
  recorded: Recorded,
  value: JsonObject,
  share: number | undefined,
): RecordedEvent {
  const { id, eventTime, kind, resource, siteId } = toVerified(value, recorded.body);
  return { ...recorded, id, eventTime, kind, resource, siteId, share };
}

/** Whether a filter takes an event that is not in a store; the store's filters decide in the same way. */
export function matches(event: RecordedEvent, filter: EventFilter): boolean {
  const { ids, kind, site, resource, webhook, q } = filter;
  return (
    (ids === undefined || ids.includes(event.id)) &&
    (kind === undefined || [kind].flat().includes(event.kind)) &&
    (site === undefined || site === event.siteId) &&
    (resource === undefined || resource === event.resource) &&
    (webhook === undefined || webhook === event.webhookId) &&
    isWithin(event, filter) &&
    (q === undefined || event.body.includes(q))
  );
}

/** The observations of a source about events that cannot be replayed. */
export interface Unreplayable {
  /** an event without a body */
  pruned(): void;
  /** a line that is no recorded notification; the problem quotes nothing of it */
  broken(line: number, problem: string): void;
}

/** Recorded events, which can be read from the first one as often as needed. */
export interface Source {
  read(unreplayable?: Unreplayable): AsyncIterable<RecordedEvent>;
  close(): Promise<void>;
}

/** For a source that is read only to look at it. */
export const UNTOLD: Unreplayable = { pruned() {}, broken() {} };
