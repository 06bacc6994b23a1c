import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';

const MIB = 1024 * 1024;
/** Below the first the next backlog may fill it; below the other it is as good as full. */
const SCARCE = 1024 * MIB;
const TOO_LITTLE = 64 * MIB;

/** Whether there is room beside the database, and whether this user may write there. */
export function checkDisk(databasePath: string): Finding {
  const { ok, warn, fail } = findingsOf('disk');
  const directory = nearest(dirname(resolve(databasePath)));
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    if (existsSync(databasePath)) accessSync(databasePath, constants.R_OK | constants.W_OK);
  } catch (error) {
    return fail(
      `this user may not write in ${directory} (${messageOf(error)}): put its owner and mode right`,
    );
  }
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  const text = `${directory} is writable, ${Math.floor(free / MIB)} MiB free`;
  if (free < TOO_LITTLE) return fail(`${text}: make room, or nothing will be accepted soon`);
  return free < SCARCE ? warn(`${text}: make room, or set RETENTION_DAYS`) : ok(text);
}

/** The directory, or the one in which the first start will make it. */
function nearest(directory: string): string {
  return existsSync(directory) ? directory : nearest(dirname(directory));
}
