import type { ChildProcess } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { eventually } from '../support/eventually.ts';
import { insertEvents } from '../support/insert-events.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import {
  connected,
  createDatabase,
  dropDatabase,
  leftByPrograms,
  SECRETS_KEY,
} from '../support/postgres-databases.ts';
import { spawnCli } from '../support/run-cli.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** A million (`MOVED_EVENTS=1000000`), with kills as much later, takes ten minutes in all: each start after a kill reads everything again. */
const EVENTS = Number(process.env.MOVED_EVENTS ?? 40_000);
const KILLS = 10;
const CLIENTS = 4;

/** Events of some thousand media and channels: handled, dead and pending ones, of the last months. */
const MANY_EVENTS = `
  WITH RECURSIVE numbers (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM numbers WHERE seq < ${EVENTS})
  SELECT seq, 1790000000000 + seq * 60000 AS event_time,
    iif(seq % 3 = 0, 'channel_active', 'media_available') AS kind,
    iif(seq % 3 = 0, 'channel:', 'media:') || seq % 5000 AS resource, 'site' || seq % 7 AS site_id,
    1790000000000 + seq * 60000 + 100 AS received_at,
    CASE WHEN seq % 100 = 0 THEN 'pending' WHEN seq % 333 = 0 THEN 'dead' ELSE 'handled' END AS status,
    iif(seq % 100 = 0 OR seq % 333 = 0, NULL, 1790000000000 + seq * 60000 + 900) AS handled_at,
    iif(seq % 333 = 0, 'failed', NULL) AS last_error, '{"pad":"' || hex(randomblob(100)) || '"}' AS body
  FROM numbers`;

await describeWithPostgres('a database that is moved', (server) => {
  let directory: string;
  let name: string;
  /** without its password */
  let postgres: string;
  let env: Readonly<Record<string, string>>;
  beforeEach(async () => {
    directory = await temporaryDirectory();
    name = await createDatabase(server);
    const url = new URL(server.url(name));
    env = { PGPASSWORD: url.password, SECRETS_KEY: SECRETS_KEY.toString('base64') };
    url.password = '';
    postgres = url.href;
  });
  afterEach(async () => {
    rmSync(directory, { recursive: true });
    await dropDatabase(server, name);
  });
  const sqlite = (file: string) => `sqlite:${join(directory, file)}`;

  test(`has every row, when ${EVENTS} events are moved to PostgreSQL and back, and each move is killed ${KILLS} times`, async () => {
    const [first, last] = ['first.db', 'last.db'].map((file) => join(directory, file));
    await openStore({
      url: sqlite('first.db'),
      clock: systemClock,
      threads: false,
      secretsKey: SECRETS_KEY,
    }).then((store) => store.close());
    const db = new Database(first);
    insertEvents(db, MANY_EVENTS);
    db.close();

    const size = (file = '') =>
      [file, `${file}-wal`].reduce(
        (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
        0,
      );
    const whole = size(first);
    for (const [from, to, copied] of [
      [sqlite('first.db'), postgres, async () => (await rowsIn(server.adminUrl(name))) / (3 * EVENTS)],
      [postgres, sqlite('last.db'), async () => size(last) / whole],
    ] as const) {
      const move = (onSpawn?: (child: ChildProcess) => void) =>
        spawnCli(['move', '--from', from, '--to', to], { env, ...(onSpawn && { onSpawn }) });
      for (let kills = 1; kills <= KILLS; kills++) {
        await leftByPrograms(server, name);
        // Further each time, so that every part of it is killed.
        const { code, stderr } = await move((child) => void killOnce(child, copied, kills / (KILLS + 1)));
        expect({ kills, code, stderr }).toMatchObject({ code: null });
      }
      process.stdout.write(`move from ${from.split(':')[0]}: killed ${KILLS} times\n`);
      await leftByPrograms(server, name);
      expect(await move()).toMatchObject({ code: 0 });
    }
    expect(differences(first ?? '', last ?? '')).toEqual({});
  });

  let receiver: ServiceProcess | undefined;
  const handlers = new URL('./handlers/quick.ts', import.meta.url);
  const start = async (database: string) => {
    receiver = await startProcess({ DATABASE_URL: database, WEBHOOK_SECRET: SECRET, ...env }, handlers);
    return receiver;
  };
  const stop = async () => {
    receiver?.child.kill('SIGTERM');
    return receiver?.exited;
  };
  afterAll(() => void receiver?.child.kill('SIGKILL'));

  test.each([
    ['SQLite', 'PostgreSQL'],
    ['PostgreSQL', 'SQLite'],
  ])(
    'has all that was acknowledged, when it is moved from %s to %s while a receiver takes events',
    async (engine) => {
      const [from, to] = engine === 'SQLite' ? [sqlite('one.db'), postgres] : [postgres, sqlite('one.db')];
      const { url } = await start(from);
      const acknowledged = new Set<string>();
      let sent = 0;
      let isSending = true;
      const clients = Array.from({ length: CLIENTS }, async () => {
        while (isSending) {
          const response = await deliver(url, bodyOf(sent++)).catch(() => undefined);
          if (response?.status === 200) acknowledged.add(((await response.json()) as { id: string }).id);
        }
      });
      await eventually('something is recorded', () => acknowledged.size > 1000);
      let told = '';
      const move = spawnCli(['move', '--from', from, '--to', to, '--follow', '--json'], {
        env,
        onSpawn: (child) => child.stderr?.on('data', (chunk) => (told += chunk)),
      });
      await eventually('the second round is done', () => /^round 2: /m.test(told));
      expect(await stop()).toBe(0);
      isSending = false;
      await Promise.all(clients);
      const { code, stdout } = await move;
      expect(code).toBe(0);
      const { tables, rounds, last_round_ms } = JSON.parse(stdout);
      process.stdout.write(
        `followed from ${engine}: ${acknowledged.size} acknowledged, ${rounds} rounds, the last one ${last_round_ms} ms\n`,
      );
      for (const table of tables) expect(table.to).toBe(table.from);

      await expect(start(from)).rejects.toThrow(/everything in this database was moved to/);
      await start(to);
      const store = await openStore({
        url: withPassword(to),
        clock: systemClock,
        secretsKey: SECRETS_KEY,
        threads: false,
      });
      await eventually(
        'all are handled',
        async () => (await store.count({ status: 'handled' })) >= acknowledged.size,
      );
      const ids = new Set<string>();
      for (let last: string | undefined; ; ) {
        const page = await store.eventsAfter({}, last, 1000);
        for (const { id } of page) ids.add(id);
        last = page.at(-1)?.id;
        if (last === undefined) break;
      }
      await store.close();
      expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([]);
      expect(await stop()).toBe(0);
    },
  );

  const withPassword = (url: string) => (url === postgres ? server.url(name) : url);
});

/** Kills a move once such a part of everything is copied. */
async function killOnce(child: ChildProcess, copied: () => Promise<number>, part: number): Promise<void> {
  while (child.exitCode === null && (await copied()) < part)
    await new Promise((resolve) => setTimeout(resolve, 50));
  child.kill('SIGKILL');
}

/** The rows of the largest tables. */
async function rowsIn(url: string): Promise<number> {
  const { rows } = await connected(url, (client) =>
    client.query(`SELECT ((SELECT count(*) FROM hookkit.ledger) + (SELECT count(*) FROM hookkit.results)
      + (SELECT count(*) FROM hookkit.attempts))::integer AS rows`),
  );
  return rows[0]?.rows ?? 0;
}

/** How many rows of two SQLite databases are not in both, by table, but for what belongs to one database. */
function differences(first: string, last: string): Record<string, number> {
  const db = new Database(last, { readonly: true });
  db.prepare('ATTACH ? AS first').run(first);
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('meta', 'secrets', 'sqlite_sequence')",
    )
    .pluck()
    .all();
  const count = (sql: string) => db.prepare<[], number>(`SELECT count(*) FROM (${sql})`).pluck().get() ?? 0;
  const found = tables.map((table) => {
    const [one, other] = ['main', 'first'].map((schema) => `SELECT * FROM ${schema}.${table}`);
    return [table, count(`${one} EXCEPT ${other}`) + count(`${other} EXCEPT ${one}`)] as const;
  });
  expect(count('SELECT * FROM ledger')).toBe(EVENTS);
  db.close();
  return Object.fromEntries(found.filter(([, rows]) => rows > 0));
}
