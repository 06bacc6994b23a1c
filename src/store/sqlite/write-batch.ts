import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { messageOf } from '../../base/errors.ts';
import { alone, type Batch, type Replies, relaxed } from './protocol.ts';

type Operate = (request: Batch[number]) => unknown;

/**
 * Does batches: all requests in one commit; if that fails, each in a commit of its own, so that one cannot spoil the
 * others. An error of the whole database fails them all: if each waited for a lock in turn, say, they would hold the
 * thread for minutes.
 */
export function batchWriter(db: Database, path: string, operate: Operate): (batch: Batch) => Replies {
  const guard = fileGuard(path);
  const setDurability = durabilityOf(db);
  const inOneCommit = db.transaction((batch: Batch) => batch.map((one) => ({ output: operate(one) })));
  const separately = (one: Batch[number]): Replies => {
    setDurability('FULL');
    return alone.has(one.name) ? [{ output: operate(one) }] : inOneCommit.immediate([one]);
  };
  return (batch) => {
    try {
      guard();
      if (batch.some(({ name }) => alone.has(name)))
        return batch.flatMap((one) => attempt(() => separately(one)));
      setDurability(batch.every(({ name }) => relaxed.has(name)) ? 'NORMAL' : 'FULL');
      return inOneCommit.immediate(batch);
    } catch (error) {
      if (batch.length === 1 || !concernsOneRequest(error)) return batch.map(() => failure(error));
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

/** The reply to one request: its output, or its error. */
export function attempt(run: () => Replies): Replies {
  try {
    return run();
  } catch (error) {
    return [failure(error)];
  }
}

function failure(error: unknown): Replies[number] {
  return { error: { message: messageOf(error), code: codeOf(error) } };
}

/** Whether a batch may have failed because of one request, and not because of the database. */
function concernsOneRequest(error: unknown): boolean {
  return !(error instanceof FilesMoved) && !/^SQLITE_(BUSY|IOERR|READONLY)/.test(codeOf(error) ?? '');
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** Thrown when the files of an open database were moved or deleted. */
class FilesMoved extends Error {}

/** Tells one file from another that took its name. */
function identityOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

/**
 * Watches the files of an open database. On Linux a file that was moved or deleted can still be written to, and the
 * notifications acknowledged meanwhile would be lost with it.
 * @returns a check that throws while the files are not where they were; it takes 5 µs, so it runs before every commit
 */
function fileGuard(path: string): () => void {
  const files = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }));
  return () => {
    for (const { file, identity } of files) {
      if (identityOf(file) === identity) continue;
      throw new FilesMoved(
        `${file} was moved, deleted or replaced: move it back, or restart to work with the file that is there now`,
      );
    }
  };
}
