import { statSync } from 'node:fs';

/** The files of a database are not where they were when it was opened. */
export class FilesMoved extends Error {}

/** Tells one file from another that took its name. */
function identityOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

/**
 * Watches over the files of an open database. On Linux one that was moved away or deleted can be written to all the
 * same, and what was acknowledged meanwhile would be gone with it.
 * @returns what throws while they are not where they were: costs 5 µs, so it can be asked before every commit
 */
export function fileGuard(path: string): () => void {
  const files = [path, `${path}-wal`].map((file) => ({ file, identity: identityOf(file) }));
  return () => {
    for (const { file, identity } of files) {
      if (identityOf(file) === identity) continue;
      throw new FilesMoved(
        `${file} was moved, deleted or replaced: put it back, or restart to work with what is there`,
      );
    }
  };
}
