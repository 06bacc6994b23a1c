import { headlineOf } from '../../base/thrown.ts';
import type { StoredEvent } from '../../store/event-store.ts';
import { iso } from '../../store/lists/event-json.ts';
import { beginning } from '../print.ts';
import { table } from '../table.ts';

const HEAD = ['id', 'event time', 'received', 'kind', 'resource', 'status', 'attempts', 'last error'];
const LONGEST_ERROR = 60;

/** Events as a table, a line an event. */
export function eventTable(events: readonly StoredEvent[]): string {
  return table(HEAD, events.map(rowOf));
}

function rowOf(event: StoredEvent): string[] {
  const { id, eventTime, receivedAt, kind, resource, status, attempts, lastError, body } = event;
  const time = eventTime === 0 ? '-' : second(eventTime);
  const note = body === undefined ? '(pruned)' : beginning(headlineOf(lastError ?? ''), LONGEST_ERROR);
  return [id, time, second(receivedAt), kind, resource, status, String(attempts), note];
}

function second(time: number): string {
  return `${iso(time).slice(0, 19)}Z`;
}
