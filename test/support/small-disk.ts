import { execFileSync } from 'node:child_process';
import { mkdtempSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of its own, which a test can fill up. */
export type SmallDisk = NonNullable<ReturnType<typeof mountSmallDisk>>;

function canRun(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/**
 * Mounts one, which only root may do, and not in every container; undefined where it cannot be done.
 * @param options of tmpfs, such as `size=8m` or `ro`
 */
export function mountSmallDisk(options: string) {
  const path = mkdtempSync(join(tmpdir(), 'hookkit-disk-'));
  if (!canRun('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path])) {
    process.stdout.write(
      `SKIPPED: no file system can be mounted here (-o ${options}); run as root to test it\n`,
    );
    return undefined;
  }
  const filler = join(path, 'filler');
  return {
    path,
    /** Leaves no room on it. */
    fill() {
      const { bavail, bsize } = statfsSync(path);
      try {
        writeFileSync(filler, Buffer.alloc(bavail * bsize));
      } catch (error) {
        // What writes meanwhile may take the last of it first: full it is, either way.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    },
    /** Gives the room back. */
    clear: () => unlinkSync(filler),
    remove: () => void execFileSync('umount', ['--lazy', path]),
  };
}
