import { type Dialect, sqlite } from './dialect.ts';
import { quarantineOperations } from './quarantine/entries.ts';
import { claimOperations } from './queue/claim.ts';
import { pruneOperations } from './queue/prune.ts';
import { recordOperations } from './queue/record.ts';
import { resetOperations } from './queue/reset.ts';
import { settleOperations } from './queue/settle.ts';
import { wakeOperations } from './queue/wake.ts';
import { type Reads, readsOf } from './reads.ts';
import { reportOperations } from './reports/report.ts';
import { secretOperations } from './secrets/sealed.ts';

/**
 * What changes the store, each within one transaction. One order of locks holds everywhere: new ids by id, then lanes by name, then
 * existing events by seq.
 */
export function operationsOf(d: Dialect) {
  const recording = recordOperations(d);
  return {
    ...recording,
    ...claimOperations(d),
    ...settleOperations(d),
    ...wakeOperations(d),
    ...resetOperations(d),
    ...pruneOperations(d),
    ...quarantineOperations(d, recording),
    ...secretOperations(d),
    ...reportOperations(d),
  };
}

export type Operations = ReturnType<typeof operationsOf>;

type Names<O> = { readonly [Name in keyof O]: Name };

/** The name of each operation and read, by which it crosses to a thread: an editor goes from `op.record` to the function. */
export const op = Object.fromEntries(
  Object.keys({ ...operationsOf(sqlite), ...readsOf(sqlite) }).map((name) => [name, name]),
) as Names<Operations & Reads>;

/** The operations whose commits need not be on disk: what a power cut takes of them runs again, or was never acknowledged. */
export const RELAXED: ReadonlySet<string> = new Set<keyof Operations>([
  'claim',
  'renew',
  'wake',
  'settle',
  'quarantine',
  'giveWay',
]);
