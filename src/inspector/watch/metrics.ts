import { createRequire } from 'node:module';
import type * as prom from 'prom-client';
import { results } from './request-results.ts';

// The package as a whole brings OpenTelemetry, a cluster and HTTP clients with it, and doubles the time that all else of the
// inspector takes to load.
const load = createRequire(import.meta.url);
export const Counter: typeof prom.Counter = load('prom-client/lib/counter.js');
export const Gauge: typeof prom.Gauge = load('prom-client/lib/gauge.js');
export const Registry: typeof prom.Registry = load('prom-client/lib/registry.js');
const Histogram: typeof prom.Histogram = load('prom-client/lib/histogram.js');

const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const SLOW = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

const ACK = 'From the head of a verified notification to its acknowledgement.';
const RUN = 'Time of each run of a handler, by kind, outcome and subscriber.';
const COMMIT = 'Time of each commit of the store; the writes of one moment share a commit.';

/** The metrics that change with each request, run and commit. */
export function metricsOf() {
  const registry = new Registry();
  const registers = [registry];
  const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
    new Histogram({ name, help, buckets, labelNames, registers });
  const notifications = new Counter({
    name: 'webhook_notifications_total',
    help: 'Requests on the webhook path: accepted, duplicate, or the reason of the refusal.',
    labelNames: ['result'],
    registers,
  });
  // rate() does not see the first rise of a counter that does not exist before it.
  for (const result of results) notifications.inc({ result }, 0);
  return {
    registry,
    notifications,
    ack: histogram('webhook_ack_seconds', ACK, FAST),
    handler: histogram('webhook_handler_seconds', RUN, SLOW, 'kind', 'outcome', 'subscriber'),
    commit: histogram('webhook_store_commit_seconds', COMMIT, FAST),
  };
}
