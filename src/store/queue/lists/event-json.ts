import type { StoreReader } from '../../event-store.ts';
import type { Quarantined, StateValue, StoredEvent } from '../../stored.ts';
import type { SetReminder, StoredSchedule } from './reminders.ts';
import type { Attempt, RunningStart } from './types.ts';

/** An event as JSON, for `--json` and the API: names as in notifications, times in ISO 8601, null for absent members. */
export function eventJson(event: StoredEvent) {
  return {
    id: event.id,
    subscriber: event.subscriber,
    origin: event.origin,
    repeats: event.repeats ?? null,
    kind: event.kind,
    resource: event.resource,
    site_id: event.siteId,
    webhook_id: event.webhookId,
    request: event.request ?? null,
    event_time: eventTimeOf(event),
    received_at: iso(event.receivedAt),
    deliveries: event.deliveries,
    last_delivery_at: iso(event.lastDeliveryAt),
    status: event.status,
    starts: event.starts,
    attempts: event.attempts,
    replays: event.replays,
    next_attempt_at: isoOrNull(event.nextAttemptAt),
    waiting: event.waiting ?? null,
    handled_at: isoOrNull(event.handledAt),
    last_error: event.lastError ?? null,
    body: event.body ?? null,
  };
}

/**
 * One event with the start that has not ended (`running`), the state of its media or channel now, the
 * reminders that are set for it, its finished steps, its attempts
 * (`history`), and the other events of its notification (`siblings`); undefined if it is not in the database.
 */
export async function wholeEventJson({ queue }: Pick<StoreReader, 'queue'>, id: string) {
  const event = await queue.event({ id });
  if (!event) return undefined;
  const [running, state, reminders, steps, attempts, siblings] = await Promise.all([
    queue.running({ id }),
    queue.state(event),
    queue.remindersOf(event),
    queue.steps({ id }),
    queue.attempts({ id }),
    queue.siblings({ id }),
  ]);
  return {
    ...eventJson(event),
    late: event.late ?? false,
    running: running ? runningJson(running) : null,
    state: stateJson(state),
    reminders: reminders.map(reminderJson),
    steps: steps.map(({ name, result }) => ({ name, result: JSON.parse(result ?? 'null') })),
    history: attempts.map(attemptJson),
    siblings: siblings
      .filter((other) => other.id !== id)
      .map(({ id, subscriber, status, endedAt }) => ({ id, subscriber, status, ended: isoOrNull(endedAt) })),
  };
}

/** The store writes 0 if a notification has no time. */
export const eventTimeOf = ({ eventTime }: Pick<StoredEvent, 'eventTime'>) =>
  isoOrNull(eventTime || undefined);

function attemptJson({ replay, attempt, startedAt, durationMs, outcome, error, log, instance }: Attempt) {
  const times = { started_at: iso(startedAt), duration_ms: durationMs };
  return { replay, attempt, ...times, outcome, error: error ?? null, log: log ?? null, instance };
}

function runningJson({ startedAt, leaseUntil, instance }: RunningStart) {
  return { started_at: iso(startedAt), lease_until: iso(leaseUntil), instance };
}

/** A reminder that is set, as JSON. */
export function reminderJson({ subscriber, resource, name, dueAt, setAt, setBy, data }: SetReminder) {
  const times = { due_at: iso(dueAt), set_at: iso(setAt), set_by: setBy };
  return { subscriber, resource, name, ...times, data: JSON.parse(data) };
}

/** A schedule with its last and next ticks, as JSON. */
export function scheduleJson({ name, spec, nextAt, last }: StoredSchedule) {
  const status = last?.status ?? null;
  const tick = { last_at: isoOrNull(last?.eventTime), last_event: last?.id ?? null, last_status: status };
  return { name, spec: JSON.parse(spec), next_at: iso(nextAt), ...tick };
}

/** An entry of the quarantine as JSON, without its token: once the secret is known, the token would verify. */
export function unprovenJson(entry: Omit<Quarantined, 'seq' | 'token'>) {
  return {
    id: entry.id,
    kind: entry.kind,
    webhook_id: entry.webhookId,
    site_id: entry.siteId,
    resource: entry.resource,
    event_time: eventTimeOf(entry),
    received_at: iso(entry.receivedAt),
    source: entry.source,
    deliveries: entry.deliveries,
    body: entry.body,
  };
}

/** The state of a resource as JSON: its values by name. */
export function stateJson(values: readonly StateValue[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(values.map(({ name, value }) => [name, JSON.parse(value)]));
}

/** A time for people and programs alike. */
export const iso = (time: number): string => new Date(time).toISOString();
export const isoOrNull = (time: number | undefined) => (time === undefined ? null : iso(time));
