import type { Db, Dialect } from './dialect.ts';
import { quarantineReads } from './quarantine/lists/entries.ts';
import { quarantineOperations } from './quarantine/quarantine.ts';
import { eventReads } from './queue/lists/events.ts';
import { queueOperations } from './queue/queue.ts';
import { reportOperations, reportReads } from './reports/report.ts';
import { secretOperations, secretReads } from './secrets/vault.ts';

/**
 * What is done in the store, each within one transaction. One order of locks holds everywhere: new ids by id, then lanes by name, then
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
