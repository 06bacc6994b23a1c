import { columnOf } from '../../dialect.ts';
import type { StoreReader } from '../../event-store.ts';
import type { Quarantined, StateValue, StoredEvent } from '../../stored.ts';
import type { SetReminder, StoredSchedule } from './events.ts';

type Column<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? '' : '_'}${Lowercase<First>}${Column<Rest>}`
  : Name;

/** Members as JSON has them: names as in notifications, times in ISO 8601, null for absent ones. */
type Json<T> = {
  readonly [Name in keyof T & string as Column<Name> & string]:
    | (Name extends `${string}${'At' | 'Until' | 'Time'}` ? string : Exclude<T[Name], undefined>)
    | (undefined extends T[Name] ? null : Name extends 'eventTime' ? null : never);
};

/** The members of a row as JSON. The store writes 0 if a notification has no time. */
export function jsonOf<T extends object>(row: T): Json<T> {
  const members = Object.entries(row).map(([name, value]) => {
    const isAbsent = value === undefined || (name === 'eventTime' && value === 0);
    return [columnOf(name), isAbsent ? null : /(At|Until|Time)$/.test(name) ? iso(value) : value];
  });
  return Object.fromEntries(members);
}

/** An event as JSON, for `--json` and the API. */
export const eventJson = ({ seq: _, endedAt, late, trace, ...event }: StoredEvent) =>
  jsonOf({ ...event, traceId: trace?.split('-')[1] });

/**
 * One event with the start that has not ended (`running`), the state of its media or channel now, the
 * reminders that are set for it, its finished steps, its attempts
 * (`history`), and the other events of its notification (`siblings`); undefined if it is not in the database.
 */
export async function wholeEventJson({ queue }: Pick<StoreReader, 'queue'>, id: string) {
  const event = await queue.event({ id });
  if (!event) return undefined;
  const siblings = await queue.siblings({ id });
  return {
    ...eventJson(event),
    late: event.late ?? false,
    running: (await queue.running({ id })).map(jsonOf)[0] ?? null,
    state: stateJson(await queue.state(event)),
    reminders: (await queue.remindersOf(event)).map(reminderJson),
    steps: (await queue.steps({ id })).map((step) => ({
      ...step,
      result: JSON.parse(step.result ?? 'null'),
    })),
    history: (await queue.attempts({ id })).map(jsonOf),
    siblings: siblings
      .filter((other) => other.id !== id)
      .map(({ id, subscriber, status, endedAt }) => ({ id, subscriber, status, ended: isoOrNull(endedAt) })),
  };
}

/** A reminder that is set, as JSON. */
export const reminderJson = (set: SetReminder) => ({ ...jsonOf(set), data: JSON.parse(set.data) });

/** A schedule with its last and next ticks, as JSON. */
export function scheduleJson({ name, spec, nextAt, last }: StoredSchedule) {
  const tick = { lastAt: last?.eventTime, lastEvent: last?.id, lastStatus: last?.status };
  return { ...jsonOf({ name, spec, nextAt, ...tick }), spec: JSON.parse(spec) };
}

/** An entry of the quarantine as JSON, without its token: once the secret is known, the token would verify. */
export function unprovenJson(entry: Omit<Quarantined, 'seq' | 'token'>) {
  const { id, kind, webhookId, siteId, resource, eventTime, receivedAt, source, deliveries, body } = entry;
  return jsonOf({ id, kind, webhookId, siteId, resource, eventTime, receivedAt, source, deliveries, body });
}

/** The state of a resource as JSON: its values by name. */
export function stateJson(values: readonly StateValue[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(values.map(({ name, value }) => [name, JSON.parse(value)]));
}

/** A time for people and programs alike. */
export const iso = (time: number): string => new Date(time).toISOString();
export const isoOrNull = (time: number | undefined) => (time === undefined ? null : iso(time));
