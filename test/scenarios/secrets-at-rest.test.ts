import { randomBytes } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { databaseForEachTest, testOfFiles, testOfServers } from '../support/engine.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { connected } from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';
import { startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MORE = Array.from({ length: 50 }, (_, number) => `another-secret-number-${number}-of-this-webhook`);

const database = databaseForEachTest();
let copy: string;

beforeEach(async () => {
  copy = await temporaryDirectory();
});

afterEach(() => rmSync(copy, { recursive: true }));

/** Ways in which a secret may stand in a file. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret);
  const texts = [
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    encodeURIComponent(secret),
  ];
  return [bytes, Buffer.from(secret, 'utf16le'), ...texts.map((text) => Buffer.from(text))];
}

const FORMS = [SECRET, ...MORE].flatMap(formsOf);

/**
 * Stores secrets of two webhooks, serves, retires some, and kills the server.
 * @param look at the database, while the server runs
 * @returns what the server has printed
 */
async function liveAndKill(look: () => unknown): Promise<string> {
  const env = { ...database().env, LOG_LEVEL: 'trace' };
  for (const secret of [SECRET, ...MORE.slice(0, 3)]) {
    const run = await runCli(['webhooks', 'import', '--id', 'hook0001'], { env, stdin: secret });
    expect(run.code).toBe(0);
  }
  const service = await startProcess(env);
  const store = await database().open();
  for (const secret of MORE) await store.addSecret('hook0002', secret);
  for (let number = 0; number < 20; number++)
    expect((await deliver(service.url, bodyOf(number))).status).toBe(200);
  for (const secret of MORE.slice(0, 10)) await store.retireSecret('hook0002', secret, systemClock.now());
  await look();
  service.child.kill('SIGKILL');
  await service.exited;
  await store.close();
  return service.output();
}

testOfFiles(
  'a copy of the database without its key shows no secret, when the server is killed under traffic with its log unwritten',
  async () => {
    const { directory } = database();
    const output = await liveAndKill(() => cpSync(directory, copy, { recursive: true }));
    cpSync(directory, join(copy, 'after'), { recursive: true });

    const entries = readdirSync(copy, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toContain('receiver.db-wal');
    const showing = files.filter(({ parentPath, name }) => {
      const bytes = readFileSync(join(parentPath, name));
      return FORMS.some((form) => bytes.includes(form));
    });
    expect(showing).toEqual([]);
    expect(FORMS.some((form) => output.includes(form.toString()))).toBe(false);

    rmSync(join(copy, 'receiver.db.key'));
    const without = openStore({ url: `sqlite:${join(copy, 'receiver.db')}`, clock: systemClock });
    await expect(without).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
  },
);

/** Everything that the tables hold, as in a dump of them. */
const rowsOfTables = () =>
  connected(database().env.DATABASE_URL ?? '', async (client) => {
    const rows: string[] = [];
    const tables = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'hookkit'");
    for (const { tablename: table } of tables.rows) {
      const result = await client.query<{ row: string }>(
        `SELECT of_table::text AS row FROM hookkit.${table} of_table`,
      );
      rows.push(...result.rows.map(({ row }) => row));
    }
    return rows;
  });

testOfServers(
  'a dump of the tables shows no secret, when it is taken under traffic, and opens with no other key',
  async () => {
    let rows: readonly string[] = [];
    const output = await liveAndKill(async () => {
      rows = await rowsOfTables();
    });
    expect(rows.length).toBeGreaterThan(MORE.length);
    expect(rows.filter((row) => FORMS.some((form) => row.includes(form.toString())))).toEqual([]);
    expect(FORMS.some((form) => output.includes(form.toString()))).toBe(false);
    await expect(database().open(randomBytes(32))).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
  },
);
