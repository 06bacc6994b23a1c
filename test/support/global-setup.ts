import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresServer } from './postgres-server.ts';
import type { SharedAnswer } from './shared-postgres.ts';

/** The PostgreSQL of a run, where one can be started. */
export const RUN = Symbol.for('the PostgreSQL of a test run');

/** Before the first suite, in Jest's main process. What it sets in the environment, the processes of suites inherit. */
export default async function setUp(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hookkit-'));
  await chmod(folder, 0o711); // for the user who runs PostgreSQL
  process.env.TMPDIR = folder;
  // The threads of SQLite stores keep what Node makes of their TypeScript, as in the program itself (bin/hookkit.js).
  process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../../node_modules/.cache/hookkit');
  process.env.TEST_POSTGRES = JSON.stringify(await start());
}

async function start(): Promise<SharedAnswer> {
  try {
    const server = await PostgresServer.start();
    Reflect.set(globalThis, RUN, server);
    return { url: server.url('postgres'), adminUrl: server.adminUrl() };
  } catch (error) {
    return { missing: error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error) };
  }
}
