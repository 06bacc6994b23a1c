import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { SCHEMA_VERSION } from '../src/store/sqlite/schema.ts';
import { bytesOf, versionOf as versionIn } from '../src/store/sqlite/upkeep.ts';
import { fill } from './fill.ts';
import { say } from './measure.ts';
import { BENCH_DIR } from './scratch.ts';

const given = new Set<string>();

/** A database with so many events, made unless an earlier run has left one of the schema as it is now. */
export function filledDatabase(events: number): string {
  const directory = directoryOf(events);
  const path = join(directory, 'receiver.db');
  given.add(directory);
  if (existsSync(path) && versionOf(path) === SCHEMA_VERSION) return path;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  say(`filling ${path} with ${events} events`);
  const draft = join(directory, 'draft.db');
  fill(draft, events, Date.now());
  renameSync(draft, path);
  return path;
}

/** A copy of such a database in a directory, for what would change it. */
export function copyOfFilled(events: number, directory: string): string {
  const original = filledDatabase(events);
  const copy = join(directory, 'filled.db');
  copyFileSync(original, copy);
  return copy;
}

/** Takes away the databases that this run has used, unless BENCH_KEEP is 1. */
export function removeFilled(): void {
  if (process.env.BENCH_KEEP === '1') return;
  for (const directory of given) rmSync(directory, { recursive: true, force: true });
}

/** What the file of a database takes up for each event in it, its attempts, indexes and everything else included. */
export function bytesAnEvent(path: string): { readonly bytes: number; readonly events: number } {
  return withDatabase(path, (db) => {
    db.pragma('wal_checkpoint(TRUNCATE)');
    const events = db.prepare<[], number>('SELECT count(*) FROM events').pluck().get() ?? 0;
    return { bytes: bytesOf(db) / events, events };
  });
}

function directoryOf(events: number): string {
  return join(BENCH_DIR, `hookkit-bench-filled-${events}`);
}

function versionOf(path: string): unknown {
  return withDatabase(path, versionIn);
}

function withDatabase<T>(path: string, work: (db: Database.Database) => T): T {
  const db = new Database(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}
