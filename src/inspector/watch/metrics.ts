import Counter from 'prom-client/lib/counter.js';
import Gauge from 'prom-client/lib/gauge.js';
import Histogram from 'prom-client/lib/histogram.js';
import Registry from 'prom-client/lib/registry.js';
import { isKind } from '../../notification/kinds.ts';
import type { HandlerRun } from '../../observer.ts';
import type { Overview } from '../../store/event-store.ts';
import { type Result, results } from './request-results.ts';

const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const SLOW = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** The metrics for Prometheus. Counters and times change with each event; the others are read at each scrape. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #registers = [this.#registry];
  readonly #notifications = new Counter({
    name: 'webhook_notifications_total',
    help: 'Requests on the webhook path by result: accepted, duplicate, or the reason of the refusal.',
    labelNames: ['result'],
    registers: this.#registers,
  });
  readonly #ack = new Histogram({
    name: 'webhook_ack_seconds',
    help: 'From the head of a verified notification to its acknowledgement.',
    buckets: FAST,
    registers: this.#registers,
  });
  readonly #handler = new Histogram({
    name: 'webhook_handler_seconds',
    help: 'Time of each run of a handler, by kind and outcome.',
    labelNames: ['kind', 'outcome'],
    buckets: SLOW,
    registers: this.#registers,
  });
  readonly #commit = new Histogram({
    name: 'webhook_store_commit_seconds',
    help: 'Time of each commit of the store; the writes of one moment share a commit.',
    buckets: FAST,
    registers: this.#registers,
  });
  readonly #guesses = new Counter({
    name: 'webhook_admin_guesses_total',
    help: 'Requests to the admin listener with a wrong token, or over the limit and with an unchecked token.',
    labelNames: ['result'],
    registers: this.#registers,
  });
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
    this.#handler.observe({ kind: isKind(kind) ? kind : 'unknown', outcome }, ms / 1000);
  }

  committed(ms: number): void {
    this.#commit.observe(ms / 1000);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /**
   * The text that Prometheus scrapes.
   * @param overview undefined if the store did not answer. Its metrics are left out then: a former number would look like the present one
   */
  async text(overview: Overview | undefined, now: number): Promise<string> {
    const read = new Registry();
    const registers = [read];
    const counted = (name: string, help: string, count: number) =>
      new Counter({ name, help, registers }).inc(count);
    const measured = (name: string, help: string, value: number) =>
      new Gauge({ name, help, registers }).set(value);
    counted(
      'webhook_log_lines_dropped_total',
      'Lines of the log that the process dropped: the disk was full, or the reader of the log stood still.',
      this.#countDropped(),
    );
    measured(
      'webhook_store_up',
      'Whether the store answered this scrape: 1, or 0, and then the metrics of the store are missing.',
      overview ? 1 : 0,
    );
    if (overview) {
      const { oldestPendingAt = now, quarantined, quarantineLost } = overview;
      const help = 'Events in the store that have not ended, by status, and those that ended as dead.';
      const events = new Gauge({ name: 'webhook_events', help, labelNames: ['status'], registers });
      for (const status of ['pending', 'running', 'dead'] as const) events.set({ status }, overview[status]);
      measured(
        'webhook_oldest_pending_seconds',
        'Age of the oldest event that is not finished, since it was received; 0 if there is none.',
        Math.max(0, now - oldestPendingAt) / 1000,
      );
      measured(
        'webhook_quarantined',
        'Notifications in quarantine that wait for a secret which verifies them.',
        quarantined,
      );
      counted(
        'webhook_quarantine_lost_total',
        'Notifications that the quarantine had no room for, since the database was created.',
        quarantineLost,
      );
    }
    return (await Promise.all([this.#registry.metrics(), read.metrics()])).join('\n');
  }
}
