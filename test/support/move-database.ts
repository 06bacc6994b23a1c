import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { argv } from 'node:process';

/** What `move-database.ts PATH LINKS [CALL]` prints, as JSON: the names of its calls of node:fs, in their order. */
export type Calls = readonly string[];

/**
 * Opens a database as the store does, and so moves a former one. With CALL, it kills its process before so many calls of
 * node:fs were made. LINKS is `links`, or `no links` for a file system that has none.
 */
const [, , path = '', links, killBefore] = argv;
const NAMES = ['openSync', 'fsyncSync', 'chmodSync', 'rmSync', 'linkSync', 'renameSync'] as const;
const calls: string[] = [];

for (const name of NAMES) {
  const real = fs[name] as (...args: readonly unknown[]) => unknown;
  const replaced = (...args: readonly unknown[]) => {
    if (calls.length === Number(killBefore ?? -1)) process.kill(process.pid, 'SIGKILL');
    calls.push(name);
    if (name === 'linkSync' && links === 'no links') throw new Error('EPERM: operation not permitted, link');
    return real(...args);
  };
  Object.assign(fs, { [name]: replaced });
}
syncBuiltinESMExports();

const { openWriter } = await import('../../src/store/sqlite/open-sqlite.ts');
openWriter(path).close();
process.stdout.write(JSON.stringify(calls satisfies Calls));
