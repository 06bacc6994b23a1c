import { within } from '../../base/clock.ts';
import { isUnavailable, messageOf } from '../../base/errors.ts';
import { missedBy } from '../../passes.ts';
import type { Inspected } from '../api/endpoint.ts';
import { stats } from '../attention/attention.ts';
import { since } from '../attention/concern.ts';
import { Counter, Gauge, Registry } from './metrics.ts';

/** Prometheus gives up after 10 seconds, and would lose the metrics of the process too. */
const PATIENCE_MS = 5000;

const EVENTS = 'Events that have not ended, and dead ones.';
const PENDING = 'Events of a subscriber that have not ended.';
const BUSY = 'How busy the writer of the store was in the last minutes, 0 to 1.';
const FAULT = '1 while this needs attention, as the overview says.';

/**
 * The text that Prometheus scrapes: what this process has counted, and what the overview says. If the store fails or does not answer in time,
 * what it says is left out: a former number would look like the present one.
 */
export async function scrape(inspected: Inspected): Promise<string> {
  const { watch, clock, log, droppedLogLines } = inspected;
  const asked = stats(inspected).catch((error) => {
    if (!isUnavailable(error))
      log.error({ error: messageOf(error), path: '/metrics' }, 'admin request failed');
    return undefined;
  });
  const known = await within(clock, PATIENCE_MS, asked);
  const read = new Registry();
  const registers = [read];
  const count = (name: string, help: string, value: number) =>
    new Counter({ name, help, registers }).inc(value);
  const gauge = (name: string, help: string, value: number) =>
    new Gauge({ name, help, registers }).set(value);
  const gauges = (name: string, help: string, label: string, values: (readonly [string, number])[]) => {
    const labelled = new Gauge({ name, help, labelNames: [label], registers });
    for (const [value, number] of values) labelled.set({ [label]: value }, number);
  };
  const { user, system } = process.cpuUsage();
  count('process_cpu_seconds_total', 'CPU time that the process took.', (user + system) / 1e6);
  gauge('process_resident_memory_bytes', 'Memory of the process.', process.memoryUsage.rss());
  count('webhook_log_lines_dropped_total', 'Lines of the log that were dropped.', droppedLogLines());
  gauge('webhook_store_up', 'Whether the store answers: 1, or 0 without its metrics.', known ? 1 : 0);
  if (known) {
    const { oldest_pending_at: oldest, disk } = known;
    const age = since(oldest ? Date.parse(oldest) : undefined, clock.now()) / 1000;
    gauges('webhook_events', EVENTS, 'status', Object.entries(known.events));
    const waiting = Object.entries(known.subscribers).map(([name, { pending }]) => [name, pending] as const);
    if (waiting.length > 0) gauges('webhook_subscriber_pending', PENDING, 'subscriber', waiting);
    gauge('webhook_oldest_pending_seconds', 'Age of the oldest unfinished event.', age);
    gauge('webhook_paused', 'Whether handling is paused: 1 or 0.', known.paused ? 1 : 0);
    gauge('webhook_quarantined', 'Notifications in quarantine.', known.quarantined);
    count('webhook_quarantine_lost_total', 'Notifications lost from quarantine.', known.quarantine_lost);
    if (known.reconciled) {
      gauge('webhook_reconcile_expected', 'Notifications reconcile expected.', known.reconciled.expected);
      gauge('webhook_reconcile_missing', 'Notifications it found missing.', missedBy(known.reconciled));
    }
    const busy = known.last_2_minutes.busy_percent;
    if (busy !== null) gauge('webhook_store_busy_ratio', BUSY, busy / 100);
    gauge('webhook_database_bytes', 'Size of the database.', disk.database_bytes);
    if (disk.free_bytes !== null) gauge('webhook_disk_free_bytes', 'Room on its disk.', disk.free_bytes);
    const labelNames = ['fault', 'of', 'severity'];
    const faults = new Gauge({ name: 'webhook_fault', help: FAULT, labelNames, registers });
    for (const { fault, of = '', grave } of known.concerns)
      faults.set({ fault, of, severity: grave ? 'grave' : 'minor' }, 1);
  }
  return [await watch.metrics.registry.metrics(), await read.metrics()].join('\n');
}
