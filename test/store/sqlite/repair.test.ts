import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type Database from 'better-sqlite3';
import SqliteDatabase from 'better-sqlite3';
import { systemClock } from '../../../src/base/clock.ts';
import { attemptJson, eventJson } from '../../../src/store/event-json.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { bringTo, firstVersion, recordFormerly } from '../../support/first-version.ts';
import { OWN_THREADS } from '../../support/own-threads.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';

/** What the first version stored where a handler gave retry an `after` of this. */
const PUT_OFF: Readonly<Record<string, unknown>> = {
  '60000': '1763680000000' + '60000',
  '5': '1763680000000' + '5',
  object: '1763680000000[object Object]',
  infinity: Number.POSITIVE_INFINITY,
};
const SOON = Date.now() + 3_600_000;

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});

const EVENTS = [...Object.keys(PUT_OFF), 'right', 'bytes', 'long'].map((media_id) => verified({ media_id }));

afterEach(() => rmSync(directory, { recursive: true }));

/** Stores it as a handler's result, where a former version did. */
function store(db: Database.Database, media: string, status: string, next: unknown, error: unknown): void {
  const resource = `media:${media}`;
  db.prepare(
    'UPDATE events SET status = ?, attempts = 1, next_attempt_at = ?, last_error = ? WHERE resource = ?',
  ).run(...[status, next, error, resource]);
  db.prepare(
    `INSERT INTO attempts SELECT seq, 0, 1, received_at, 5, 'retry', ? FROM events WHERE resource = ?`,
  ).run(error, resource);
  db.prepare('DELETE FROM lanes WHERE resource = ?').run(resource);
}

function spoil(db: Database.Database): void {
  for (const [media, next] of Object.entries(PUT_OFF)) store(db, media, 'pending', next, 'not yet');
  store(db, 'right', 'pending', SOON, 'not yet');
  store(db, 'bytes', 'dead', null, Buffer.from('as bytes'));
  store(db, 'long', 'skipped', null, 'x'.repeat(1_000_000));
  db.close();
}

test('events whose pause is no time are due, and texts are texts of 4,000 characters, when the first version stored them', async () => {
  const { db } = firstVersion(path, Buffer.alloc(32, 1), []);
  for (const event of EVENTS) recordFormerly(db, event, Date.now());
  spoil(db);
  const opened = await SqliteStore.open({ path, clock: systemClock, threads: OWN_THREADS });
  const { claims } = await opened.claim({ owner: 'test', limit: 50, leaseMs: 1000, maxAttempts: 9 });
  expect(claims.map(({ resource }) => resource.slice(6)).toSorted()).toEqual(Object.keys(PUT_OFF).toSorted());
  for (const event of await opened.events({}, { limit: 50 })) {
    const [attempt] = await opened.attempts(event.id);
    const [name, text] = [event.resource.slice(6), eventJson(event).last_error];
    if (name === 'right') expect(event.nextAttemptAt).toBe(SOON);
    if (name === 'bytes') expect([text, attempt?.error]).toEqual(['as bytes', 'as bytes']);
    if (name === 'long') expect([text?.length, attempt?.error?.length]).toEqual([4000, 4000]);
  }
  await opened.close();
});

test('events are shown, when a program of the first version wrote beside one of the version before this', async () => {
  const { db } = firstVersion(path, Buffer.alloc(32, 1), []);
  bringTo(db, 8);
  for (const event of EVENTS) recordFormerly(db, event, Date.now());
  spoil(db);
  const opened = await SqliteStore.open({ path, clock: systemClock, threads: OWN_THREADS });
  const events = await opened.events({}, { limit: 50 });
  expect(events).toHaveLength(7);
  for (const event of events) {
    const attempts = (await opened.attempts(event.id)).map(attemptJson);
    expect(JSON.parse(JSON.stringify([eventJson(event), attempts]))).toHaveLength(2);
  }
  await opened.close();
  const env = { DATABASE_URL: `sqlite:${path}` };
  const { code, stdout } = await runCli(['events', 'list'], { env });
  expect([code, stdout.split('\n').length]).toEqual([0, 7 + 3]);
});

test.each(["'a text'", '9e15', '1e300', "x'00'"])(
  'an attempt that began at %s, as nobody but a hand can have it, is shown with its event',
  async (started) => {
    const open = () => SqliteStore.open({ path, clock: systemClock, threads: false });
    const first = await open();
    const { id } = await first.record(verified({ media_id: 'one' }));
    await first.close();
    const db = new SqliteDatabase(path);
    db.exec(`INSERT INTO attempts (event, replay, attempt, started_at, duration_ms, outcome)
             SELECT seq, 0, 1, ${started}, 5, 'error' FROM ledger`);
    db.close();
    const store = await open();
    expect((await store.attempts(id)).map(attemptJson)).toMatchObject([
      { attempt: 1, started_at: '1970-01-01T00:00:00.000Z', outcome: 'error' },
    ]);
    await store.close();
  },
);
