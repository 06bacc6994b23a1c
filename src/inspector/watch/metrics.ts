import Counter from 'prom-client/lib/counter.js';
import Gauge from 'prom-client/lib/gauge.js';
import Histogram from 'prom-client/lib/histogram.js';
import Registry from 'prom-client/lib/registry.js';
import { kitVersion } from '../../base/program.ts';
import { slotOf } from '../../notification/kinds.ts';
import type { HandlerRun } from '../../observer.ts';
import type { DatabaseSize, Instance, Overview } from '../../store/event-store.ts';
import { isAway } from '../../store/queue/lists/event-json.ts';
import type { Concern } from '../attention/concern.ts';
import { type Result, results } from './request-results.ts';

const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const SLOW = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

const RESULTS = 'Requests on the webhook path: accepted, duplicate, or the reason of the refusal.';
const ACK = 'From the head of a verified notification to its acknowledgement.';
const RUN = 'Time of each run of a handler, by kind and outcome.';
const COMMIT = 'Time of each commit of the store; the writes of one moment share a commit.';
const GUESSES = 'Requests to the admin listener with a wrong or unchecked token.';

const counter = (registry: Registry, name: string, help: string, ...labelNames: string[]) =>
  new Counter({ name, help, labelNames, registers: [registry] });

const histogram = (
  registry: Registry,
  name: string,
  help: string,
  buckets: number[],
  ...labelNames: string[]
) => new Histogram({ name, help, buckets, labelNames, registers: [registry] });

/** What the store says at a scrape, when the newest event was received, and what the overview says. */
export type Scraped = readonly [
  Overview,
  readonly Instance[],
  DatabaseSize,
  number | undefined,
  {
    readonly concerns: readonly Concern[];
    readonly last_2_minutes: { readonly busy_percent: number | null };
  },
];

/** The metrics for Prometheus. Counters and times change with each event; the others are read at each scrape. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #notifications = counter(this.#registry, 'webhook_notifications_total', RESULTS, 'result');
  readonly #ack = histogram(this.#registry, 'webhook_ack_seconds', ACK, FAST);
  readonly #handler = histogram(this.#registry, 'webhook_handler_seconds', RUN, SLOW, 'kind', 'outcome');
  readonly #commit = histogram(this.#registry, 'webhook_store_commit_seconds', COMMIT, FAST);
  readonly #guesses = counter(this.#registry, 'webhook_admin_guesses_total', GUESSES, 'result');
  readonly #countDropped: () => number;

  constructor(droppedLogLines: () => number = () => 0) {
    this.#countDropped = droppedLogLines;
    // rate() does not see the first rise of a counter that does not exist before it.
    for (const result of results) this.#notifications.inc({ result }, 0);
    for (const result of ['wrong', 'unchecked']) this.#guesses.inc({ result }, 0);
  }

  answered(result: Result, ms: number): void {
    this.#notifications.inc({ result });
    if (result === 'accepted' || result === 'duplicate') this.#ack.observe(ms / 1000);
  }

  guessed(result: 'wrong' | 'unchecked'): void {
    this.#guesses.inc({ result });
  }

  ran({ kind, outcome, ms }: HandlerRun): void {
    this.#handler.observe({ kind: slotOf(kind), outcome }, ms / 1000);
  }

  committed(ms: number): void {
    this.#commit.observe(ms / 1000);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /**
   * The text that Prometheus scrapes.
   * @param scraped undefined if the store did not answer. Its metrics are left out then: a former number would look like the present one
   */
  async text(scraped: Scraped | undefined, now: number, instance: string): Promise<string> {
    const read = new Registry();
    const registers = [read];
    const count = (name: string, help: string, value: number) => counter(read, name, help).inc(value);
    const gauge = (name: string, help: string, value: number, labels: Record<string, string> = {}) =>
      new Gauge({ name, help, registers, labelNames: Object.keys(labels) }).set(labels, value);
    const gauges = (name: string, help: string, label: string, values: Record<string, number>) => {
      const all = new Gauge({ name, help, registers, labelNames: [label] });
      for (const [of, value] of Object.entries(values)) all.set({ [label]: of }, value);
    };
    count('webhook_log_lines_dropped_total', 'Lines of the log that were dropped.', this.#countDropped());
    gauge('webhook_store_up', 'Whether the store answered: 1, or 0 and it tells nothing.', scraped ? 1 : 0);
    gauge('webhook_build_info', 'The version of the kit.', 1, { version: kitVersion, instance });
    const { user, system } = process.cpuUsage();
    const startedAt = now / 1000 - process.uptime();
    count('process_cpu_seconds_total', 'CPU time that the process took.', (user + system) / 1e6);
    gauge('process_resident_memory_bytes', 'Memory of the process.', process.memoryUsage.rss());
    gauge('process_start_time_seconds', 'Start of the process since the epoch.', startedAt);
    if (scraped) {
      const [overview, instances, size, lastReceivedAt = 0, { concerns, last_2_minutes: latest }] = scraped;
      const { pending, running, dead, oldestPendingAt = now, oldestReadyAt = now } = overview;
      const age = (time: number) => Math.max(0, now - time) / 1000;
      const unfinished = { pending, running, dead };
      gauges('webhook_events', 'Events that have not ended, and dead ones.', 'status', unfinished);
      gauge('webhook_oldest_pending_seconds', 'Age of the oldest unfinished event.', age(oldestPendingAt));
      gauge('webhook_oldest_ready_seconds', 'Of those that no handler has started.', age(oldestReadyAt));
      gauge('webhook_paused', 'Whether handling is paused: 1 or 0.', overview.paused ? 1 : 0);
      gauge('webhook_quarantined', 'Notifications in quarantine.', overview.quarantined);
      const lost = 'Notifications that the quarantine had no room for.';
      count('webhook_quarantine_lost_total', lost, overview.quarantineLost);
      const newest = 'When the newest event was received; 0 if none was.';
      gauge('webhook_last_received_timestamp_seconds', newest, lastReceivedAt / 1000);
      const away = instances.filter((one) => one.name !== instance && isAway(one, now)).length;
      const states = { live: instances.length - away, away };
      gauges('webhook_instances', 'Processes; away if not seen for 30 seconds.', 'state', states);
      const labelNames = ['fault', 'of', 'severity'];
      const what = 'What needs attention, as the overview says it: 1 while it does.';
      const faults = new Gauge({ name: 'webhook_fault', help: what, registers, labelNames });
      for (const { fault, of = '', grave } of concerns)
        faults.set({ fault, of, severity: grave ? 'grave' : 'minor' }, 1);
      const busy = 'How busy what writes to the store was in the last minutes, 0 to 1.';
      if (latest.busy_percent !== null) gauge('webhook_store_busy_ratio', busy, latest.busy_percent / 100);
      gauge('webhook_database_bytes', 'Size of the database.', size.bytes);
      if (size.free !== undefined) gauge('webhook_disk_free_bytes', 'Room of the disk.', size.free);
    }
    return (await Promise.all([this.#registry.metrics(), read.metrics()])).join('\n');
  }
}
