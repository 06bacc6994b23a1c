import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import type { Finding } from '../../src/base/finding.ts';
import type { ReadyApp } from '../../src/dispatch/open-app.ts';
import type { HandlerContext } from '../../src/index.ts';
import { postgres, sqlite } from '../../src/store/dialect.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { migrations, VERSION } from '../../src/store/schema.ts';
import { claims, HANDLED } from '../support/claiming.ts';
import { type TestDatabase, testDatabase } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { deliver, SECRET } from '../support/notifications.ts';
import { present } from '../support/only.ts';
import { connected, SECRETS_KEY } from '../support/postgres-databases.ts';
import { OWNER } from '../support/postgres-server.ts';
import { copyNextVersion } from '../support/program-copy.ts';
import { callCli } from '../support/run-cli.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';
import { toldOf } from './told.ts';

/** SHA-256 of each migration that was released, in the words of both engines. */
const RELEASED: readonly string[] = ['0715df70d1bea8fe52952a753b9b09b44f6f8dc4e908cfd860e1de79da73c6f7'];
const hashes = migrations.map((migration) => hash('sha256', [sqlite, postgres].map(migration).join()));

test.each(RELEASED.map((one, at) => [at + 1, one] as const))(
  'the released migration %i stays as it is',
  (version, before) => {
    const now = hashes[version - 1];
    const advice =
      'put back what was released, and add a migration behind it (CONTRIBUTING, Changing tables)';
    expect(now === before ? 'unchanged' : advice).toBe('unchanged');
  },
);

type Engine = 'sqlite' | 'postgres';
const folder = join(import.meta.dirname, '../fixtures');
const releases = readdirSync(folder).filter((name) => /^\d/.test(name));

/** Fails where a step of docs/releasing.md was left out. */
test('each migration has databases that it made, and its hash, once the changelog gives its version a date', () => {
  const changelog = readFileSync(join(import.meta.dirname, '../../CHANGELOG.md'), 'utf8');
  const files = releases.map((name) => readFileSync(join(folder, name, 'sqlite.sql'), 'utf8'));
  const made = Math.max(...files.map((sql) => Number(/user_version = (\d+)/.exec(sql)?.[1])));
  const released = /^## .*\(unreleased\)|^## /m.exec(changelog)?.[0] === '## ' ? VERSION : made;
  expect(made === released ? 'made' : 'run npm run fixtures').toBe('made');
  expect(RELEASED).toEqual([...RELEASED, ...hashes.slice(RELEASED.length, released)]);
});

const databases: TestDatabase[] = [];
afterAll(async () => {
  for (const database of databases) await database.remove();
});

/** The database of a release, as if it had been made two hours ago: what waits for an hour is due, and nothing is too old to be kept. */
async function copyOf(release: string, engine: Engine, change = '') {
  const made = readFileSync(join(folder, release, `${engine}.sql`), 'utf8');
  const later = Date.now() - 7_200_000 - Number(/ at (\d+)/.exec(made)?.[1]);
  // The seal of a secret covers its time.
  const sql = made.replaceAll(/^(?!INSERT INTO secrets).*/gm, (line) =>
    line.replaceAll(/\b1\d{12}\b/g, (time) => String(Number(time) + later)),
  );
  const database = await testDatabase(await temporaryDirectory(), engine);
  databases.push(database);
  const again = `DROP SCHEMA hookkit CASCADE; SET ROLE ${OWNER}`;
  await database.execute({ sqlite: `${sql}${change}`, postgres: `${again}; ${sql}${change}` });
  const url = present(database.env.DATABASE_URL);
  const env = { DATABASE_URL: url, SECRETS_KEY: SECRETS_KEY.toString('base64') };
  return { url, env, open: () => database.open(SECRETS_KEY) };
}

const start = inspectedForEachTest();

/** What runs once handlers start again: whose, its media, the number of the start, whether it is a replay, and what its step has stored. */
const RUNS = `
main asking 2 false 0, main failing 2 false 2, main first 2 false 0, main imported 1 false 0, main new 1 false 0
main second 1 false 0, main stuck 1 false 0, main stuck 5 false 0, main whole 1 true 1
search failing 2 false 0, search imported 1 false 0, search new 1 false 0`;

function testsOn(engine: Engine): void {
  describe.each(releases)('a database of release %s', (release) => {
    test('tells what it told, and all that was pending is handled, when this program starts on it', async () => {
      const { env, open } = await copyOf(release, engine);
      await (await open()).close(); // it has the version of this program now
      const told = JSON.parse(readFileSync(join(folder, release, `${engine}.json`), 'utf8'));
      expect(await toldOf(env)).toMatchObject(told);

      const runs: string[] = [];
      const run = async ({ media_id: id }: { media_id: string }, ctx: HandlerContext) => {
        const step = await ctx.once('mail', () => 0);
        runs.push([ctx.subscriber || 'main', id, ctx.attempt, ctx.replay, step].join(' '));
      };
      const handlers = { media_available: run, track_created: run };
      const app: ReadyApp = { handlers, subscribers: { search: { handlers: { media_available: run } } } };
      const settings = { ...env, LEASE_MS: '1000', RETRY_MAX_ATTEMPTS: '40' };
      const { api, service, settled, post } = await start({}, settings, { app });
      expect((await api('/refusals')).refusals).toMatchObject([{ reason: 'bad_signature', count: 4 }]);
      expect((await api('/channels')).channels).toMatchObject([{ channel_id: 'live', state: 'active' }]);
      const counted = await service.store.reports.stats({ since: 0 });
      expect(counted.find(({ result }) => result === 'skipped')).toMatchObject({ count: 2 });

      const first = told.findLast(({ resource = '' }) => resource === 'media:whole');
      const { id, body } = await api(`/events/${first.id}`);
      const sent = async (media: string, webhook: string, secret: string) => {
        const text = body.replace('whole', media).replace('hook0001', webhook);
        return (await deliver(service.url, text, secret)).json();
      };
      expect(await sent('whole', 'hook0001', SECRET)).toEqual({ status: 'duplicate', id });
      expect(await sent('new', 'hook0002', `another ${SECRET}`)).toMatchObject({ status: 'accepted' });
      expect(await sent('newer', 'hook0003', `former ${SECRET}`)).toHaveProperty('error');
      await post('/api/resume');
      await settled();
      expect(runs.toSorted()).toEqual(RUNS.trim().split(/, |\n/));
      expect((await api('/stats')).events).toEqual({ pending: 0, running: 0, dead: 2 });
    });

    test('is refused for good, when it began with tables of before 1.0, whatever its version', async () => {
      for (const version of [1, VERSION + 1]) {
        const pragmas = `PRAGMA user_version = ${version}; PRAGMA application_id = 7`;
        const rows = `UPDATE meta SET value = CASE name WHEN 'shape' THEN 7 ELSE ${version} END WHERE name IN ('version', 'shape')`;
        const { open } = await copyOf(release, engine, engine === 'sqlite' ? pragmas : rows);
        await expect(open()).rejects.toThrow(/is of a program before 1\.0: run that program, or begin/);
      }
    });

    test('still serves a program that runs, when one with a further migration has changed it, and refuses one that starts', async () => {
      const { url, open } = await copyOf(release, engine);
      const works = async (store: EventStore, media_id: string) => {
        const one = verified({ media_id });
        expect(await store.queue.record(one)).toMatchObject({ status: 'accepted' });
        const claim = present((await claims(store)).find(({ id }) => id === one.id));
        expect(await store.queue.settle(claim, HANDLED)).toMatchObject({ isHeld: true });
        expect(await store.reports.refusals()).toHaveLength(1);
        expect(await store.reports.changes({ limit: 5 })).toHaveLength(5);
        for (const entry of (await store.quarantine.entries()).slice(0, 1))
          expect(await store.quarantine.admit(entry.token)).toMatchObject({ status: 'accepted' });
      };
      const now = await open();
      await now.queue.resume();
      await works(now, 'before');
      const further = await import(join(copyNextVersion(), 'src/store/open.ts'));
      const behind = `start the service, which brings it to ${VERSION + 1}`;
      for (const command of [further.withDatabase, further.withStore])
        await expect(command({ DATABASE_URL: url, SECRETS_KEY }, () => {})).rejects.toThrow(behind);
      const next = await further.openStore({
        DATABASE_URL: url,
        SECRETS_KEY,
        clock: systemClock,
        threads: false,
      });
      const refusal = `version ${VERSION + 1} and this program knows ${VERSION}: run the newer program that has used it`;
      await expect(open()).rejects.toThrow(refusal);
      for (const store of [now, next]) await works(store, store === now ? 'now' : 'next');
      for (const store of [now, next]) await store.close();
    });
  });
}

describe('on SQLite', () => testsOn('sqlite'));
describeWithPostgres('on PostgreSQL', () => {
  testsOn('postgres');

  test.each(releases)(
    'a database of %s is changed at a second try, when a transaction held one of its tables at the first',
    async (release) => {
      const { url } = await copyOf(release, 'postgres');
      await connected(url, async (other) => {
        const waiting = async () => {
          const waits =
            "SELECT virtualtransaction FROM pg_locks WHERE relation = 'hookkit.events'::regclass AND NOT granted";
          return (await other.query(waits)).rows[0]?.virtualtransaction;
        };
        const next = copyNextVersion();
        const { openStore } = await import(join(next, 'src/store/open.ts'));
        const { check } = await import(join(next, 'src/store/postgres/engine.ts'));
        const locks: string[] = [];
        const look = async () => {
          const found: Finding[] = await Array.fromAsync(check({ DATABASE_URL: url, SECRETS_KEY }));
          for (const { detail } of found) if (detail.includes('locked')) locks.push(detail);
        };
        let isOver = false;
        const receivers = Array.from({ length: 4 }, () =>
          connected(url, async (receiver) => {
            while (!isOver)
              for (const sql of ['BEGIN; SELECT FROM hookkit.events', 'COMMIT']) await receiver.query(sql);
          }),
        );
        for (let looks = 0; looks < 12; looks++) await look();
        isOver = true;
        await Promise.all(receivers);
        expect(locks).toEqual([]); // those of a moment are in nobody's way
        await other.query('BEGIN; SELECT FROM hookkit.events');
        const opening = openStore({ DATABASE_URL: url, SECRETS_KEY, clock: systemClock, threads: false });
        await eventually('it waits for the table', async () => (await waiting()) !== undefined);
        const first = await waiting();
        await eventually(
          'it has let others pass, and waits again',
          async () => ![undefined, first].includes(await waiting()),
        );
        await look();
        expect(locks).toEqual([expect.stringMatching(/has locked the table hookkit\.events: end it/)]);
        await other.query('COMMIT');
        await (await opening).close();
      });
    },
  );
});

test.each(releases)('a database of %s is moved whole, when the other one is empty', async (release) => {
  const { url, env, open } = await copyOf(release, 'sqlite');
  await (await open()).close(); // it has the version of this program now
  const other = await testDatabase(await temporaryDirectory(), 'sqlite');
  const args = ['move', '--from', url, '--to', present(other.env.DATABASE_URL)];
  expect(await callCli(args, { env })).toMatchObject({ code: 0 });
  await using store = await other.open(SECRETS_KEY);
  expect(await store.secrets.live()).toMatchObject([{ secret: SECRET }, { secret: `another ${SECRET}` }]);
  const counts = { pending: 7, dead: 2, quarantined: 2 };
  expect(await store.reports.overview()).toMatchObject({ ...counts, paused: { reason: 'moving' } });
});
