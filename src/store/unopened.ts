import { lstatSync, statSync } from 'node:fs';
import { KitError } from '../base/errors.ts';
import { isThere, targetOf } from './is-there.ts';
import { keyPathOf } from './key-file.ts';

/**
 * What is wrong with a database that is there and has nothing in it, although there is a key beside it: a server that began with it
 * would have lost everything in silence. Undefined if there is no key.
 */
export function cutShort(path: string): string | undefined {
  const key = keyPathOf(path);
  // Also a link that leads nowhere, as while what it leads to is not mounted.
  if (!lstatSync(key, { throwIfNoEntry: false })) return undefined;
  return (
    `${path} is empty, although there is a key for it (${key}), so a copy or a backup was cut short: put a whole copy there; ` +
    'to start with an empty database instead, stop the server, and remove the file'
  );
}

/**
 * What is wrong with a log of SQLite whose database is missing or empty: it may have acknowledged notifications that are in no other file,
 * and SQLite deletes it when it opens the database, even to read. Undefined if there is no such log.
 * @throws KitError STORE_UNUSABLE if the database cannot be seen, or is no file
 */
export function logLeft(path: string): string | undefined {
  const isFile = isThere(path);
  if (isFile && statSync(path).size > 0) return undefined;
  const log = `${targetOf(path)}-wal`;
  if (!statSync(log, { throwIfNoEntry: false })?.size) return undefined;
  return (
    `${path} is ${isFile ? 'empty' : 'not there'}, although its log is there (${log}), which may have acknowledged ` +
    'notifications that are in no other file: put the database back that the log is of; to start with an empty one instead, stop the ' +
    'server, and move the log away'
  );
}

/** @throws KitError STORE_UNUSABLE if there is a log without its database */
export function refuseLogLeft(path: string): void {
  const wrong = logLeft(path);
  if (wrong !== undefined) throw new KitError('STORE_UNUSABLE', wrong);
}

/** The error where a database cannot be opened. */
export function unopened(path: string, message: string): KitError {
  return new KitError('STORE_UNUSABLE', `cannot open the database ${path}: ${advised(message)}`);
}

/** Advice for the user, by how a message of SQLite begins. Our own messages say themselves what to do, and have paths in them. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /^(unable to open database file|attempt to write a readonly database)/,
    'its directory must exist, and this user must be allowed to write to the directory, to the file, and to its -wal, -shm and -journal files',
  ],
  [/^database (schema |table )?is locked/, 'another program locks it: wait for that program, or end it'],
  [/^database or disk is full/, 'make room on its disk'],
  [
    /^(file is (encrypted or is )?not a database|database disk image is malformed|malformed database schema)/,
    'restore a backup, or set another path in DATABASE_URL',
  ],
];

/** A message of SQLite, with what the user can do about it where that is known. */
function advised(message: string): string {
  const advice = ADVICE.find(([said]) => said.test(message))?.[1];
  return advice === undefined ? message : `${message} (${advice})`;
}
