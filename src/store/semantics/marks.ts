import { KitError } from '../../base/errors.ts';
import type { Tables } from '../driver.ts';
import { kept, toKept } from './kept.ts';

/** The name under which a database has its mark. */
export const MARK = 'move of the whole database';

/**
 * What `hookkit move` has written into a database: `from` where a move reads, `to` where an unfinished move writes, `moved` where
 * everything has gone elsewhere.
 */
export interface Mark {
  readonly as: 'from' | 'to' | 'moved';
  /** the same on both sides of a move */
  readonly id: string;
  /** names the other side */
  readonly other: string;
}

/** The mark of a database; undefined if it has none. */
export async function mark(tables: Pick<Tables, 'meta'>): Promise<Mark | undefined> {
  return kept<Mark>(tables, MARK);
}

export async function setMark(tables: Pick<Tables, 'setMark'>, given: Mark | undefined): Promise<void> {
  await tables.setMark(given && toKept(given), refusalOf(given));
}

/**
 * Keeps programs from a database that a move fills or has left: it would acknowledge what nobody finds.
 * @throws KitError STORE_UNUSABLE
 */
export function refuseMarked(found: Mark | undefined): void {
  const refusal = refusalOf(found);
  if (refusal !== undefined) throw new KitError('STORE_UNUSABLE', refusal);
}

/** Why programs may not use a database with this mark; undefined if they may. */
function refusalOf(found: Mark | undefined): string | undefined {
  if (found?.as === 'to')
    return `an unfinished move from ${found.other} fills this database: run the same npx hookkit move again, which goes on where it was`;
  if (found?.as === 'moved')
    return `everything in this database was moved to ${found.other}: set DATABASE_URL to that; to use this one again, run npx hookkit move --from URL --reopen`;
  return undefined;
}
