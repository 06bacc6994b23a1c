import { existsSync, statSync } from 'node:fs';
import { messageOf } from '../../base/errors.ts';
import { inspectDatabase } from '../../store/examine-store.ts';
import { type Finding, findingsOf } from './finding.ts';

/** Looks at the database without changing it: opened by the store, an older one would be brought up to date. */
export function checkDatabase(path: string): { readonly finding: Finding; readonly isUsable: boolean } {
  const { ok, warn, fail } = findingsOf('database');
  const unusable = (finding: Finding) => ({ finding, isUsable: false });
  if (!existsSync(path)) {
    return unusable(
      warn(`there is none at ${path}: the first start makes it; if there was one, check DATABASE_URL`),
    );
  }
  try {
    const { version, known, problems } = inspectDatabase(path);
    if (version > known) {
      return unusable(
        fail(`${path} has schema version ${version} and this program knows ${known}: run the newer program`),
      );
    }
    if (problems.length > 0) {
      return unusable(
        fail(`${path} is damaged (${problems.join('; ')}): stop the server and restore a backup`),
      );
    }
    if (version < known) {
      return unusable(
        warn(
          `${path} has schema version ${version}: the next start brings it to ${known}; back it up before`,
        ),
      );
    }
    const open = openTo(path);
    const finding =
      open === undefined
        ? ok(`${path}, schema version ${version}, intact`)
        : (open.isEverybody ? fail : warn)(
            `${open.who} may read ${open.file} (mode ${open.mode}): chmod 600 ${open.file}, unless this is meant`,
          );
    return { finding, isUsable: true };
  } catch (error) {
    return unusable(
      fail(`${path} cannot be read (${messageOf(error)}): restore a backup, or check DATABASE_URL`),
    );
  }
}

/** Who else than its owner may read the database, or its log, which holds the same; undefined where nobody may. */
function openTo(path: string) {
  if (process.platform === 'win32') return undefined; // which does not tell modes
  for (const file of [path, `${path}-wal`]) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
    const isEverybody = (mode & 0o007) !== 0;
    if (!isEverybody && (mode & 0o070) === 0) continue;
    const who = isEverybody ? 'everybody' : 'its group';
    return { file, who, isEverybody, mode: `0${(mode & 0o777).toString(8)}` };
  }
  return undefined;
}
