import { sqlitePathOf } from '../../base/database-url.ts';
import { KitError, messageOf } from '../../base/errors.ts';
import { isThere } from '../is-there.ts';
import { openSide } from '../open.ts';
import { FORMS } from './forms.ts';
import type { Side } from './side.ts';
import { refuseBeforehand, reopen, type TransferOptions, type Transferred, transfer } from './transfer.ts';

export type { FollowedRound, Transferred } from './transfer.ts';

export interface Moving extends Omit<TransferOptions, 'onPage' | 'waitMs'> {
  /** URLs, as DATABASE_URL has them */
  readonly from: string;
  readonly to: string;
  /** whether somebody sees how much is left: counting all rows takes time */
  readonly isWatched: boolean;
  /** told after each page how many rows of this round were compared, and how much of all that is, in [0, 1] */
  readonly onPage: (rows: number, share: number | undefined) => void;
}

/** A move that was killed ends at a server once the statement does that it was at. */
const WAIT_MS = 5000;

/**
 * Moves everything of one database into another; see `transfer`.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export function moveDatabase({ from, to, isWatched, onPage, ...options }: Moving): Promise<Transferred> {
  return withFormer(from, async (fromSide) => {
    const total = isWatched ? await rowsOf(fromSide).catch(() => undefined) : undefined; // of a huge one it takes too long
    const share = (rows: number) => (total ? Math.min(1, rows / total) : undefined);
    if (isNewFile(to)) await refuseBeforehand(fromSide, { follows: options.follows, waitMs: WAIT_MS });
    return withSide(to, 'the database to move to', (toSide) =>
      transfer(
        { from: fromSide, to: toSide },
        { ...options, waitMs: WAIT_MS, onPage: (rows) => onPage(rows, share(rows)) },
      ),
    );
  });
}

/** Whether a URL names a SQLite file that is not there yet: a move that is refused is not to make it. */
function isNewFile(url: string): boolean {
  const path = sqlitePathOf(url);
  return path !== undefined && !isThere(path);
}

/**
 * Lets programs use a database again of which everything was moved.
 * @returns whether it was marked as moved
 */
export function reopenDatabase(url: string): Promise<boolean> {
  return withFormer(url, reopen);
}

/** Opens a database that must be there. */
function withFormer<T>(url: string, work: (side: Side) => Promise<T>): Promise<T> {
  const path = sqlitePathOf(url);
  if (path !== undefined && !isThere(path))
    throw new KitError('STORE_UNUSABLE', `there is no database at ${path}: correct the path`);
  return withSide(url, 'the database to move', work, { mustExist: true });
}

/** @param role names the database in errors */
async function withSide<T>(
  url: string,
  role: string,
  work: (side: Side) => Promise<T>,
  { mustExist = false } = {},
): Promise<T> {
  const side = await openSide(url, { mustExist }).catch((cause) => {
    if (!(cause instanceof KitError)) throw cause;
    throw new KitError(cause.code, `${role}: ${cause.message.replaceAll('DATABASE_URL', 'its URL')}`, {
      cause,
    });
  });
  try {
    return await work(side);
  } catch (cause) {
    if (cause instanceof KitError) throw cause;
    throw new KitError(
      'STORE_UNAVAILABLE',
      `a database failed: ${messageOf(cause)}; nothing is lost: run this again, and it goes on`,
      { cause },
    );
  } finally {
    await side.close();
  }
}

async function rowsOf(side: Side): Promise<number> {
  let total = 0;
  for (const form of FORMS) total += await side.count(form);
  return total;
}
