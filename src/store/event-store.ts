import type { Db, Dialect } from './dialect.ts';
import { callsOf, type Engine, type StoreOptions } from './engine.ts';
import { quarantineReads } from './quarantine/lists/entries.ts';
import { quarantineOn, quarantineOperations } from './quarantine/quarantine.ts';
import { eventReads } from './queue/lists/events.ts';
import { queueOn, queueOperations, queueReaderOn } from './queue/queue.ts';
import { reportOperations, reportReads } from './reports/report.ts';
import { type Secrets, secretOperations, secretReads } from './secrets/vault.ts';

export type { Attempt, StatePlace, StatesQuery, Subscriber } from './queue/lists/events.ts';
export type { Problem } from './queue/lists/problems.ts';
export type { EventFilter, Expected, Receipt, Received, Search } from './queue/lists/search.ts';
export type { Erasure, Queue, Recorded } from './queue/queue.ts';
export type { Change } from './reports/audit.ts';
export type { Overview } from './reports/overview.ts';
export type { Instance, Pass, Refusals, Report, Stat, Sum } from './reports/report.ts';
export type { Secrets } from './secrets/vault.ts';
export type * from './stored.ts';

export type StoreReader = ReturnType<typeof readerOn>;
export type EventStore = ReturnType<typeof storeOn>;

/** The reading part of the store. It needs no key, and changes nothing, the schema included. */
export function readerOn(engine: Engine) {
  return {
    queue: queueReaderOn(engine),
    quarantine: callsOf(quarantineReads, engine.read),
    reports: callsOf(reportReads, engine.read),
    /** How large the database is, and how much room its disk has. */
    size: engine.size,
    /** Closes the database, once the calls made before have ended. */
    close: engine.close,
    [Symbol.asyncDispose]: engine.close,
  };
}

/**
 * The store by subject. Every method that writes resolves once its change is committed, and rejects with `STORE_UNAVAILABLE` if it was not,
 * or if the connection broke at its commit. It waits for as long as the database does.
 */
export function storeOn(engine: Engine, secrets: Secrets, options: StoreOptions) {
  const reader = readerOn(engine);
  const queue = queueOn(engine, reader.queue, options);
  const quarantine = quarantineOn(engine, queue, options.clock);
  const reports = { ...reader.reports, ...callsOf(reportOperations, engine.write) };
  return { ...reader, queue, quarantine, secrets, reports, busy: engine.busy, compact: engine.compact };
}

/**
 * The operations of the store, each within one transaction. One order of locks holds everywhere: new ids by id, then lanes by name, then
 * existing events by seq.
 */
export const operationsOf = (d: Dialect) => ({
  ...queueOperations(d),
  ...quarantineOperations(d),
  ...secretOperations(d),
  ...reportOperations(d),
  // The queries of lists. They delay no writes.
  ...eventReads(d),
  ...quarantineReads(d),
  ...secretReads(),
  ...reportReads(d),
});

/** One of them, as an engine has it by its name. */
export type Operate = (db: Db, input: never) => unknown;

/** The operations whose commits need not be on disk: what a power cut takes of them runs again, or was never acknowledged. */
const relaxed: readonly Operation[] = ['claim', 'renew', 'wake', 'settle', 'comeDue', 'keep', 'giveWay'];
export const RELAXED: ReadonlySet<string> = new Set(relaxed);

type Operation = keyof ReturnType<typeof operationsOf>;
