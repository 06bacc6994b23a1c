import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname } from 'node:path';
import { argv } from 'node:process';
import { systemClock } from '../../src/base/clock.ts';

/** What `move-database.ts PATH LINKS [CALL]` prints, as JSON: the names of its calls of node:fs, in their order. */
export type Calls = readonly string[];

/**
 * `move-database.ts PATH LINKS [call|step NUMBER]` opens a database as the store does, and so moves a former one. LINKS is
 * `links`, or `no links` for a file system that has none. With `call`, it kills its process before so many calls of node:fs
 * were made; with `step`, it says after each step how far it is, and kills its process after so many.
 */
const [, , path = '', links, what, number] = argv;
const [killBefore, killAfter] = ['call', 'step'].map((one) => (one === what ? Number(number) : undefined));
const NAMES = ['openSync', 'fsyncSync', 'chmodSync', 'rmSync', 'linkSync', 'renameSync'] as const;
const calls: string[] = [];

/** Whether a call is about the database, or a file that is open; Node itself loads modules. */
const isOurs = (file: unknown) => typeof file === 'number' || String(file).startsWith(dirname(path));

for (const name of NAMES) {
  const real = fs[name] as (...args: readonly unknown[]) => unknown;
  const replaced = (...args: readonly unknown[]) => {
    if (!isOurs(args[0])) return real(...args);
    if (calls.length === killBefore) process.kill(process.pid, 'SIGKILL');
    calls.push(name);
    if (name === 'linkSync' && links === 'no links') throw new Error('EPERM: operation not permitted, link');
    return real(...args);
  };
  Object.assign(fs, { [name]: replaced });
}
syncBuiltinESMExports();

if (killAfter !== undefined) {
  // How far it is, it says when some seconds are over.
  let now = 0;
  systemClock.monotonic = () => (now += 10_000);
  let steps = 0;
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = (text: string) => {
    const isWritten = write(text);
    if (/^moved .* events/.test(text) && ++steps === killAfter) process.kill(process.pid, 'SIGKILL');
    return isWritten;
  };
}

const { openWriter } = await import('../../src/store/sqlite/open-sqlite.ts');
openWriter(path).close();
process.stdout.write(JSON.stringify(calls satisfies Calls));
