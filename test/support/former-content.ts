import Database from 'better-sqlite3';
import { eventId } from '../../src/store/event-id.ts';
import type {
  Attempt,
  Channel,
  DoneStep,
  EventStore,
  StateValue,
  Status,
  StoredEvent,
  Tally,
} from '../../src/store/event-store.ts';

/** An event with all that belongs to it. */
interface WholeEvent {
  readonly event: StoredEvent;
  readonly attempts: readonly Attempt[];
  readonly steps: readonly DoneStep[];
}

/** What a database has, as far as a store shows it. */
export interface Content {
  /** in the order of receipt */
  readonly events: readonly WholeEvent[];
  readonly states: Readonly<Record<string, readonly StateValue[]>>;
  readonly channels: readonly unknown[];
  /** events by kind and status */
  readonly tallies: Readonly<Record<string, number>>;
  readonly oldestPendingAt: number | undefined;
  readonly quarantine: readonly unknown[];
  readonly quarantined: readonly number[];
}

/** A row of `events`, as version 8 has it. */
interface EventRow {
  readonly seq: number;
  readonly event_time: number;
  readonly digest: Buffer;
  readonly kind: string;
  readonly webhook_id: string;
  readonly site_id: string;
  readonly resource: string;
  readonly received_at: number;
  readonly deliveries: number;
  readonly last_delivery_at: number;
  readonly status: Status;
  readonly attempts: number;
  readonly replays: number;
  readonly next_attempt_at: number | null;
  readonly handled_at: number | null;
  readonly last_error: string | null;
  readonly body: string | null;
  readonly interrupted: number;
}

type AttemptRow = Attempt & { readonly event: number };
type StepRow = DoneStep & { readonly event: number };
type StateRow = StateValue & { readonly resource: string };
type ChannelRow = Omit<Channel, 'event'> & Pick<EventRow, 'event_time' | 'digest'>;

const ATTEMPTS = `SELECT event, replay, attempt, started_at AS startedAt, duration_ms AS durationMs, outcome, error
  FROM attempts ORDER BY event, replay, attempt`;
const CHANNELS = `SELECT channels.resource, channels.site_id AS siteId, state, since, event_time, digest
  FROM channels JOIN events ON seq = event ORDER BY since DESC, channels.resource DESC`;
const QUARANTINE = `SELECT id AS place, bytes, 1 + ifnull(repeats, 0) AS deliveries, source, received_at AS receivedAt,
    event_time AS eventTime, digest, kind, webhook_id AS webhookId, site_id AS siteId, resource, body, token
  FROM quarantine LEFT JOIN quarantine_repeats USING (id) ORDER BY id`;

/** Reads a former database from its tables. */
export function formerContent(path: string): Content {
  const db = new Database(path, { readonly: true });
  const all = <R>(sql: string) => db.prepare<[], R>(sql).all();
  const one = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  const attempts = Map.groupBy(all<AttemptRow>(ATTEMPTS), ({ event }) => event);
  const steps = Map.groupBy(all<StepRow>('SELECT * FROM steps ORDER BY event, name'), ({ event }) => event);
  const states = Map.groupBy(
    all<StateRow>('SELECT * FROM state ORDER BY resource, name'),
    ({ resource }) => resource,
  );
  const content: Content = {
    events: all<EventRow>('SELECT * FROM events ORDER BY seq').map((row) => ({
      event: formerEvent(row),
      attempts: (attempts.get(row.seq) ?? []).map(({ event: _, error, ...attempt }) => ({
        ...attempt,
        error: error ?? undefined,
      })),
      steps: (steps.get(row.seq) ?? []).map(({ name, result }) => ({ name, result })),
    })),
    states: Object.fromEntries(
      [...states].map(([resource, rows]) => [resource, rows.map(({ name, value }) => ({ name, value }))]),
    ),
    channels: all<ChannelRow>(CHANNELS).map(({ event_time, digest, ...channel }) => ({
      ...channel,
      event: eventId(event_time, digest),
    })),
    tallies: Object.fromEntries(
      all<Tally>('SELECT kind, status, count(*) AS events FROM events GROUP BY 1, 2').map(
        ({ kind, status, events }) => [`${kind} ${status}`, events],
      ),
    ),
    oldestPendingAt: one(
      "SELECT min(received_at) FROM events WHERE status IN ('pending', 'running') AND replays = 0",
    ),
    quarantine: all(QUARANTINE),
    quarantined: ['all', 'lost'].map((what) =>
      one(`SELECT entries FROM quarantine_sums WHERE what = '${what}'`),
    ),
  };
  db.close();
  return content;
}

function formerEvent(row: EventRow): StoredEvent {
  return {
    id: eventId(row.event_time, row.digest),
    digest: row.digest.toString('hex'),
    kind: row.kind,
    webhookId: row.webhook_id,
    siteId: row.site_id,
    resource: row.resource,
    eventTime: row.event_time,
    body: row.body ?? undefined,
    receivedAt: row.received_at,
    deliveries: row.deliveries,
    lastDeliveryAt: row.last_delivery_at,
    status: row.status,
    starts: row.attempts + row.interrupted,
    attempts: row.attempts,
    replays: row.replays,
    nextAttemptAt: row.next_attempt_at ?? undefined,
    lastError: row.last_error ?? undefined,
    handledAt: row.handled_at ?? undefined,
  };
}

/** Reads the same through a store. */
export async function storedContent(store: EventStore): Promise<Content> {
  const stored: StoredEvent[] = [];
  for (let page: readonly StoredEvent[] = []; ; ) {
    page = await store.eventsAfter({}, stored.at(-1)?.id, 1000);
    if (page.length === 0) break;
    stored.push(...page);
  }
  const events: WholeEvent[] = [];
  for (const event of stored) {
    const [attempts, steps] = await Promise.all([store.attempts(event.id), store.steps(event.id)]);
    events.push({ event, attempts, steps: steps.toSorted((a, b) => (a.name < b.name ? -1 : 1)) });
  }
  const states: Record<string, readonly StateValue[]> = {};
  for (const resource of new Set(stored.map((event) => event.resource))) {
    const state = await store.state(resource);
    if (state.length > 0) states[resource] = state;
  }
  const { tallies, oldestPendingAt, quarantined, quarantineLost } = await store.overview();
  return {
    events,
    states,
    channels: (await store.channels({ limit: 1000 })).channels,
    tallies: Object.fromEntries(
      tallies.map(({ kind, status, events: count }) => [`${kind} ${status}`, count]),
    ),
    oldestPendingAt,
    quarantine: await store.quarantined(),
    quarantined: [quarantined, quarantineLost],
  };
}
