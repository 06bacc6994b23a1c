import { once } from 'node:events';
import { argv } from 'node:process';
import Database from 'better-sqlite3';

/** `late-reader.ts PATH alone|"with a lock"`, forked: opens a database, and reads it for the first time once it gets a message. */
const [, , path = '', how] = argv;
const db = new Database(path, { timeout: 100 });
const asked = once(process, 'message');
process.send?.('open');
await asked;
if (how === 'with a lock') {
  db.pragma('locking_mode = EXCLUSIVE');
  db.exec('BEGIN EXCLUSIVE; COMMIT');
}
db.pragma('user_version', { simple: true });
db.close();
process.disconnect?.();
