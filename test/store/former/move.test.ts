import {
  chmodSync,
  existsSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { Claim } from '../../../src/store/event-store.ts';
import { migrations } from '../../../src/store/former/migrations.ts';
import { backupsOf } from '../../../src/store/former/move.ts';
import { REPLAYS_FROM } from '../../../src/store/semantics/lane-order.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { laneTables } from '../../../src/store/sqlite/tables/lanes.ts';
import { claims, HANDLED, LEASE_MS } from '../../support/claiming.ts';
import { bringTo, firstVersion, recordFormerly } from '../../support/first-version.ts';
import { formerContent, storedContent } from '../../support/former-content.ts';
import { present } from '../../support/only.ts';
import { size, some } from '../../support/sizes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';
import { type Extent, unpackVersion8 } from '../../support/version-8.ts';

const EXTENT = size<Extent>({ small: 'part', full: 'whole' });

let directory: string;
let path: string;
let backup: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
  backup = `${path}.version-8`;
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (clock = new VirtualClock(), file = path) =>
  SqliteStore.open({ path: file, clock, threads: false });

describe('a database of version 8', () => {
  test('reads the same, when it was moved, in all that a store shows', async () => {
    const { now, events } = unpackVersion8(path, EXTENT);
    const before = formerContent(path);
    expect(before.events).toHaveLength(events);
    const store = await open(new VirtualClock(now));
    expect(await storedContent(store)).toEqual(before);
    await store.close();
    expect(formerContent(backup)).toEqual(before);
  });

  test('keeps its secrets, live and retired, and the webhooks that had one, when it was moved', async () => {
    const { now } = unpackVersion8(path, EXTENT);
    const former = new Database(path, { readonly: true });
    const rows = former.prepare('SELECT * FROM secrets ORDER BY 1, 2').all();
    former.close();
    const store = await open(new VirtualClock(now));
    const secrets = (await store.secrets()).map(({ webhookId, secret }) => `${webhookId}: ${secret}`);
    expect(secrets.toSorted()).toEqual([
      '2yW4KmiG: secret number 0, geheim',
      'Wiederholung: secret number 3, geheim',
      'hook0001: the second one of hook0001',
      'hook0002: secret number 2, geheim',
      'late0001: at last',
    ]);
    expect(await store.unreadableSecrets()).toEqual([]);
    expect(await store.webhooksWithOwnSecret()).toContain('gone0001');
    await store.close();
    const moved = new Database(path, { readonly: true });
    expect(moved.prepare('SELECT * FROM secrets ORDER BY 1, 2').all()).toEqual(rows);
    moved.close();
  });

  test('goes on where it was, when it was moved: each event that was not finished runs to its end once, at its time', async () => {
    const { now, events } = unpackVersion8(path, EXTENT);
    const before = new Map(formerContent(path).events.map(({ event }) => [event.id, event]));
    const unfinished = [...before.values()].filter(({ status }) => /pending|running/.test(status));
    const clock = new VirtualClock(now);
    const store = await open(clock);
    const ran = new Map<string, { readonly claim: Claim; readonly at: number }>();
    for (const end = now + 120 * 60_000; clock.now() < end; await clock.advance(LEASE_MS)) {
      for (let ready = await claims(store); ready.length > 0; ready = await claims(store)) {
        for (const claim of ready) {
          expect(ran.has(claim.id)).toBe(false);
          ran.set(claim.id, { claim, at: clock.now() });
          expect(await store.settle(claim, 'one', HANDLED)).toBe(true);
        }
      }
    }
    // A lost start of an event without attempts left ends it.
    const dead = await store.events({ status: 'dead' }, { limit: 1000 });
    const ended = new Set(dead.filter(({ id }) => before.get(id)?.status === 'running').map(({ id }) => id));
    expect([...ran.keys(), ...ended].toSorted()).toEqual(unfinished.map(({ id }) => id).toSorted());
    for (const { id, status, starts, nextAttemptAt, replays } of unfinished.filter(
      (one) => !ended.has(one.id),
    )) {
      const { claim, at } = present(ran.get(id));
      expect(claim).toMatchObject({ starts: starts + 1, replays });
      if (nextAttemptAt !== undefined) expect(at).toBeGreaterThanOrEqual(nextAttemptAt);
      const lost = (await store.attempts(id)).filter(
        ({ outcome, replay }) => outcome === 'lost' && replay === replays,
      );
      if (status === 'running') expect(lost.map(({ attempt }) => attempt)).toEqual([starts]);
    }
    const waitsForReplay = unfinished.filter(({ lastError }) => lastError?.startsWith('waits until replay'));
    expect(waitsForReplay.length).toBeGreaterThan(size({ small: 5, full: 50 }));
    expect(await store.count({ status: 'pending' })).toBe(0);
    expect(await store.count({ status: 'running' })).toBe(0);
    expect(await store.count({})).toBe(events);
    await store.close();
  });

  test('has its live events before its replays, when it was moved, as a database that was never moved', async () => {
    const { now } = unpackVersion8(path, 'whole');
    const isReplay = new Map(formerContent(path).events.map(({ event }) => [event.id, event.replays > 0]));
    const clock = new VirtualClock(now);
    const store = await open(clock);
    const places = (db: Database.Database) =>
      db
        .prepare<[], { resource: string; head: number }>(
          'SELECT resource, head FROM lanes WHERE event IS NULL ORDER BY 1',
        )
        .all();
    const file = new Database(path);
    const moved = places(file);
    expect(moved.some(({ head }) => head >= REPLAYS_FROM)).toBe(true);
    // Each lane is made again, as the store itself makes it.
    const { openLanes } = laneTables(file);
    file.exec('DELETE FROM lanes WHERE event IS NULL');
    const ready = file
      .prepare<
        [],
        { event: number; resource: string; eventTime: number; receivedAt: number; replays: number }
      >(
        `SELECT event, work.resource, work.event_time AS eventTime, received_at AS receivedAt, replays
         FROM work JOIN ledger ON seq = work.event WHERE next_attempt_at IS NULL
           AND work.resource NOT IN (SELECT resource FROM lanes)`,
      )
      .all();
    openLanes(ready);
    expect(places(file)).toEqual(moved);
    file.close();
    const claimed = await claims(store, { limit: 16, newest: 4, replayed: 4 });
    expect(claimed.filter(({ id }) => isReplay.get(id))).toHaveLength(4);
    await store.close();
  });

  test('knows its events, when they come again, and takes new ones', async () => {
    const { now, events: count } = unpackVersion8(path, EXTENT);
    const { events } = formerContent(path);
    const [whole, pruned] = [true, false].map((isWhole) => {
      const { event } = present(events.find((one) => (one.event.body !== undefined) === isWhole));
      return { ...event, digest: Buffer.from(event.digest, 'hex'), body: '{}' };
    });
    const store = await open(new VirtualClock(now));
    expect(await store.record(present(whole))).toMatchObject({ status: 'duplicate' });
    expect(await store.record(present(pruned))).toMatchObject({ status: 'duplicate' });
    expect(await store.record(verified())).toMatchObject({ status: 'accepted' });
    expect(await store.count({})).toBe(count + 1);
    await store.close();
  });

  test('has the tables and pages of a new one, when it was moved, and the mode and the names that it had', async () => {
    unpackVersion8(path, EXTENT);
    await (await open()).close();
    const made = join(directory, 'new.db');
    await (await open(undefined, made)).close();
    expect([path, backup, `${path}.key`].map((file) => statSync(file).mode & 0o777)).toEqual([
      0o600, 0o600, 0o600,
    ]);
    const left = ['-wal', '-shm', '-journal'].flatMap((suffix) => [`${path}${suffix}`, `${backup}${suffix}`]);
    expect([...left, `${path}.migrating`].filter((file) => existsSync(file))).toEqual([]);
    expect(formOf(path)).toEqual(formOf(made));
  });

  test('stays open to its group, when a group may read it', async () => {
    unpackVersion8(path, EXTENT);
    chmodSync(path, 0o640);
    await (await open()).close();
    expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  test('is moved beside itself, when DATABASE_URL names a link to it', async () => {
    const { events } = unpackVersion8(path, EXTENT);
    const link = join(directory, 'link.db');
    symlinkSync(path, link);
    renameSync(`${path}.key`, `${link}.key`);
    const store = await open(undefined, link);
    expect(await store.count({})).toBe(events);
    await store.close();
    expect(readlinkSync(link)).toBe(path);
    expect(existsSync(backup)).toBe(true);
  });

  test('is moved again with what came since, when its backup was moved back and used by the former version', async () => {
    const { events } = unpackVersion8(path, EXTENT);
    const before = formerContent(path);
    await (await open()).close();
    renameSync(backup, path);
    expect(formerContent(path)).toEqual(before);
    useFormerly(verified({ media_id: 'since' }));
    const store = await open();
    expect(await store.events({ resource: 'media:since' }, { limit: 9 })).toHaveLength(1);
    expect(await store.count({})).toBe(events + 1);
    await store.close();
  });

  test('leaves an earlier backup as it is, when it is moved once more', async () => {
    unpackVersion8(path, EXTENT);
    await (await open()).close();
    const bytes = readFileSync(backup);
    rmSync(path);
    unpackVersion8(path, EXTENT);
    await (await open()).close();
    expect(readFileSync(backup).equals(bytes)).toBe(true);
    expect(existsSync(`${backup}.2`)).toBe(true);
  });

  test('is no longer written to by a former program, when that program opened it just before', async () => {
    unpackVersion8(path, EXTENT);
    const former = new Database(path);
    await (await open()).close();
    expect(() => former.exec("INSERT INTO meta VALUES ('late', x'00')")).toThrow(/readonly/);
    former.close();
  });
});

/** A program of version 8 records an event. */
function useFormerly(notification: ReturnType<typeof verified>): void {
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  recordFormerly(db, notification, 1_800_000_000_000);
  db.close();
}

/** Its tables and indexes, and how long its pages are. */
function formOf(file: string): unknown {
  const db = new Database(file, { readonly: true });
  const tables = db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all();
  const pageBytes = db.pragma('page_size', { simple: true });
  db.close();
  return { tables, pageBytes };
}

describe('a database of an earlier version', () => {
  test.each(some(4, [1, 2, 3, 4, 5, 6, 7, 8]))(
    'reads as its last migration leaves it, when version %i was moved',
    async (version) => {
      const { db } = firstVersion(path, Buffer.alloc(32, 1), [{ webhookId: 'hook0001', secret: 'geheim' }]);
      bringTo(db, version);
      for (const [index, status] of ['handled', 'skipped', 'dead', 'pending', 'pending'].entries()) {
        const seq = recordFormerly(
          db,
          verified({ media_id: `media-${index % 3}`, at: index * 1000 }),
          index * 1000,
        );
        if (status === 'pending') continue;
        const ended = status === 'dead' ? null : 5000;
        db.prepare('UPDATE events SET status = ?, attempts = 1, handled_at = ? WHERE seq = ?').run(
          status,
          ended,
          seq,
        );
        db.prepare('INSERT INTO attempts VALUES (?, 0, 1, 100, 10, ?, ?)').run(seq, status, null);
        db.prepare("INSERT INTO steps VALUES (?, 'größe', '1')").run(seq);
      }
      recordFormerly(db, verified({ event: 'channel_active', channel_id: 'c', media_id: undefined }), 9000);
      db.close();
      const store = await open(new VirtualClock(10_000));
      expect(await storedContent(store)).toEqual(formerContent(backup));
      expect(await store.secrets()).toMatchObject([{ webhookId: 'hook0001', secret: 'geheim' }]);
      expect(await claims(store)).toHaveLength(3);
      await store.close();
    },
  );

  test('stays as its program left it, when it was moved, and the doctor names it', async () => {
    const { db } = firstVersion(path, Buffer.alloc(32, 1), [{ webhookId: 'hook0001', secret: 'geheim' }]);
    bringTo(db, 3);
    recordFormerly(db, verified(), 1000);
    db.close();
    chmodSync(path, 0o640);
    const contentOf = (file: string) => {
      const opened = new Database(file, { readonly: true });
      const tables = opened
        .prepare<[], { name: string; sql: string }>(
          "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )
        .all();
      const rows = tables.map(({ name }) => opened.prepare(`SELECT * FROM ${name}`).all());
      const version = opened.pragma('user_version', { simple: true });
      opened.close();
      return { tables, rows, version };
    };
    const before = contentOf(path);
    expect(before.version).toBe(3);
    const store = await open();
    expect(await store.count({})).toBe(1);
    await store.close();
    const earlier = `${path}.version-3`;
    expect(contentOf(earlier)).toEqual(before);
    expect(statSync(earlier).mode & 0o777).toBe(0o640);
    expect(backupsOf(path).toSorted()).toEqual([earlier, backup]);
  });

  test.each(['is not whole yet', 'is whole, and the database was brought to version 8 behind it'])(
    'has one copy of what it was, when a kill left one that %s',
    async (what) => {
      const { db } = firstVersion(path, Buffer.alloc(32, 1), []);
      bringTo(db, 3);
      recordFormerly(db, verified(), 1000);
      const draft = `${path}.version-3.unfinished`;
      if (what === 'is not whole yet') writeFileSync(draft, 'SQLite format 3');
      else {
        db.prepare('VACUUM INTO ?').run(draft);
        for (const sql of migrations.slice(3)) db.exec(sql);
        db.pragma(`user_version = ${migrations.length}`);
      }
      db.close();
      await (await open()).close();
      expect(backupsOf(path).toSorted()).toEqual([`${path}.version-3`, backup]);
      expect(existsSync(draft)).toBe(false);
      const copy = new Database(`${path}.version-3`, { readonly: true });
      expect(copy.pragma('user_version', { simple: true })).toBe(3);
      expect(copy.prepare('SELECT count(*) FROM events').pluck().get()).toBe(1);
      copy.close();
    },
  );

  test('is moved, when it has no events', async () => {
    firstVersion(path, Buffer.alloc(32, 1), []).db.close();
    const store = await open();
    expect(await store.count({})).toBe(0);
    expect(await store.record(verified())).toMatchObject({ status: 'accepted' });
    await store.close();
  });
});
