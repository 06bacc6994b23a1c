import type { Database } from 'better-sqlite3';
import { messageOf } from '../../base/errors.ts';
import { FilesMoved, fileGuard } from './files.ts';
import { alone, relaxed } from './operations/urgency.ts';
import type { Answers, Batch } from './protocol.ts';

type Call = (one: Batch[number]) => unknown;

/**
 * Does batches: all calls in one commit; if that fails, each in a commit of its own, so that one cannot spoil the others.
 * What concerns the whole database fails them all: were each to wait in turn for a lock, say, they would hold the thread
 * for minutes.
 */
export function batchWriter(db: Database, path: string, call: Call): (batch: Batch) => Answers {
  const guard = fileGuard(path);
  const setDurability = durabilityOf(db);
  const inOneCommit = db.transaction((batch: Batch) => batch.map((one) => ({ output: call(one) })));
  const separately = (one: Batch[number]): Answers => {
    setDurability('FULL');
    return alone.has(one.name) ? [{ output: call(one) }] : inOneCommit.immediate([one]);
  };
  return (batch) => {
    try {
      guard();
      if (batch.some(({ name }) => alone.has(name)))
        return batch.flatMap((one) => attempt(() => separately(one)));
      setDurability(batch.every(({ name }) => relaxed.has(name)) ? 'NORMAL' : 'FULL');
      return inOneCommit.immediate(batch);
    } catch (error) {
      if (batch.length === 1 || !concernsOneCall(error)) return batch.map(() => failure(error));
      return batch.flatMap((one) => attempt(() => inOneCommit.immediate([one])));
    }
  };
}

/** Sets how far a commit goes, where it changes: FULL waits for the disk, NORMAL leaves that to the next FULL. */
function durabilityOf(db: Database): (durability: 'FULL' | 'NORMAL') => void {
  let current = 'FULL';
  return (durability) => {
    if (durability !== current) db.pragma(`synchronous = ${durability}`);
    current = durability;
  };
}

/** What one call, or a batch of one, came to. */
export function attempt(run: () => Answers): Answers {
  try {
    return run();
  } catch (error) {
    return [failure(error)];
  }
}

function failure(error: unknown): Answers[number] {
  return { error: { message: messageOf(error), code: codeOf(error) } };
}

/** Whether a batch may have failed for one of its calls, and not for what all of them need. */
function concernsOneCall(error: unknown): boolean {
  return !(error instanceof FilesMoved) && !/^SQLITE_(BUSY|IOERR|READONLY)/.test(codeOf(error) ?? '');
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
