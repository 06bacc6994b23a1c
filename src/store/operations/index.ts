import type { Db, Dialect } from '../dialect.ts';
import { claimOperations } from './claim.ts';
import { pruneOperations } from './prune.ts';
import { quarantineOperations } from './quarantine.ts';
import { recordOperations } from './record.ts';
import { secretOperations } from './secrets.ts';
import { settleOperations } from './settle.ts';
import { statsOperations } from './stats.ts';
import { wakeOperations } from './wake.ts';

/**
 * What changes the store, each within one transaction. One order of locks holds everywhere: new ids by id, then lanes by name, then
 * existing events by seq.
 */
export function operationsOf(d: Dialect) {
  const recording = recordOperations(d);
  const ping = `INSERT INTO meta (name, value) VALUES ('pings', '1')
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS bigint) + 1 AS text)`;
  return {
    ...recording,
    ...claimOperations(d),
    ...settleOperations(d),
    ...wakeOperations(d),
    ...pruneOperations(d),
    ...quarantineOperations(d, recording),
    ...secretOperations(d),
    ...statsOperations(d),
    /** Commits something: a page that does not change would not be written. */
    async ping(db: Db, _: object): Promise<void> {
      await db.all(ping);
    },
  };
}

export type Operations = ReturnType<typeof operationsOf>;

/** The operations whose commits need not be on disk: what a power cut takes of them runs again. */
export const RELAXED: ReadonlySet<string> = new Set<keyof Operations>(['claim', 'renew', 'wake', 'settle']);
