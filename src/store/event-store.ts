import { callsOf, type DatabaseSize, type Engine, type StoreOptions } from './engine.ts';
import { quarantineReads } from './quarantine/lists/entries.ts';
import { type QuarantineFacade, type QuarantineReader, quarantineOn } from './quarantine/quarantine.ts';
import { type Queue, type QueueReader, queueOn, queueReaderOn } from './queue/queue.ts';
import { type Reports, type ReportsReader, reportReads, reportsOn } from './reports/reports.ts';
import type { Secrets } from './secrets/vault.ts';

export type { DatabaseSize } from './engine.ts';
export type { QuarantinePage, WaitingWebhook } from './quarantine/lists/entries.ts';
export type * from './queue/lists/types.ts';
export type { Queue, QueueReader, Recorded } from './queue/queue.ts';
export type { Settled } from './queue/settle.ts';
export type { Channel, ChannelPage, Channels } from './reports/channels.ts';
export type { Overview } from './reports/overview.ts';
export type { Alerts, Instance, Refusals, Report, SeenFault, Stat, Sum } from './reports/report.ts';
export type { Secrets } from './secrets/vault.ts';
export type * from './stored.ts';

/** What reads the store. It needs no key, and changes nothing, the schema included. */
export interface StoreReader extends AsyncDisposable {
  readonly queue: QueueReader;
  readonly quarantine: QuarantineReader;
  readonly reports: ReportsReader;
  /** How large the database is, and how much room its disk has. */
  size(): Promise<DatabaseSize>;
  /** Closes the database, once the calls made before have ended. */
  close(): Promise<void>;
}

/**
 * The store by subject. Every method that writes resolves once its change is committed, and rejects with `STORE_UNAVAILABLE` if it was not,
 * or if the connection broke at its commit. It waits for as long as the database does.
 */
export interface EventStore extends StoreReader {
  readonly queue: Queue;
  readonly quarantine: QuarantineFacade;
  readonly secrets: Secrets;
  readonly reports: Reports;
  /** How busy what writes is, 0 to 1: on SQLite the share of its time since this was asked last, on PostgreSQL of its connections now. */
  busy(): number;
}

export function readerOn(engine: Engine): StoreReader {
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= engine.close();
    return closing;
  };
  return {
    queue: queueReaderOn(engine),
    quarantine: callsOf(quarantineReads, engine.read),
    reports: callsOf(reportReads, engine.read),
    size: () => engine.size(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function storeOn(engine: Engine, secrets: Secrets, options: StoreOptions): EventStore {
  const reader = readerOn(engine);
  const queue = queueOn(engine, reader.queue, options);
  const quarantine = quarantineOn(engine, reader.quarantine, queue, options.clock);
  const reports = reportsOn(engine, reader.reports);
  return { ...reader, queue, quarantine, secrets, reports, busy: engine.busy };
}
