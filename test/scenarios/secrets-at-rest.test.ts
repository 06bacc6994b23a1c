import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { databaseForEachTest, ENGINE, testOfFiles } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { connected, SECRETS_KEY } from '../support/postgres-databases.ts';
import { callCli, runCli } from '../support/run-cli.ts';
import { runService } from '../support/running-service.ts';
import { startProcess } from '../support/service-process.ts';

const MORE = Array.from({ length: 50 }, (_, number) => `another-secret-number-${number}-of-this-webhook`);

const database = databaseForEachTest();

/** Ways in which a secret may stand somewhere. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret);
  const encoded = (['hex', 'base64', 'base64url'] as const).map((encoding) => bytes.toString(encoding));
  const texts = [...encoded, encodeURIComponent(secret)];
  return [bytes, Buffer.from(secret, 'utf16le'), ...texts.map((text) => Buffer.from(text))];
}

const FORMS = [SECRET, ...MORE].flatMap(formsOf);
const shows = (bytes: Buffer) => FORMS.some((form) => bytes.includes(form));

/** All files of the database, or all rows of its tables, as in a dump of them; without the key. */
async function everything(): Promise<Map<string, Buffer>> {
  const { directory, env } = database();
  if (ENGINE === 'sqlite') {
    const names = readdirSync(directory);
    return new Map(names.map((name) => [name, readFileSync(join(directory, name))]));
  }
  return connected(env.DATABASE_URL ?? '', async (client) => {
    const found = new Map<string, Buffer>();
    const tables = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'hookkit'");
    for (const { tablename: table } of tables.rows) {
      const { rows } = await client.query(`SELECT of_table::text AS row FROM hookkit.${table} of_table`);
      found.set(table, Buffer.from(rows.map(({ row }) => row).join()));
    }
    return found;
  });
}

test('files and tables show no secret, nor does the log, when the server is killed under traffic, and nothing opens without the key', async () => {
  const env = { ...database().env, LOG_LEVEL: 'trace' };
  const run = await callCli(['webhooks', 'import', '--id', 'hook0001'], { env, stdin: SECRET });
  expect(run.code).toBe(0);
  const service = await startProcess(env);
  const store = await database().open();
  for (const secret of MORE) await store.secrets.add('hook0002', secret);
  for (let number = 0; number < 20; number++)
    expect((await deliver(service.url, bodyOf(number))).status).toBe(200);
  for (const secret of MORE.slice(0, 10)) await store.secrets.retire('hook0002', secret, systemClock.now());
  const meanwhile = await everything();
  await service.kill();

  expect([...meanwhile.keys()]).toContain(ENGINE === 'sqlite' ? 'receiver.db-wal' : 'secrets');
  for (const all of [meanwhile, await everything()])
    expect([...all].filter(([, bytes]) => shows(bytes)).map(([name]) => name)).toEqual([]);
  expect(shows(Buffer.from(service.output()))).toBe(false);
  await store.close();
  rmSync(join(database().directory, 'receiver.db.key'), { force: true });
  const otherKey = ENGINE === 'sqlite' ? undefined : randomBytes(32);
  await expect(database().open(otherKey)).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
});

const envOf = (key: Buffer) => ({ ...database().env, SECRETS_KEY: key.toString('base64') });

const rekey = (key: Buffer, stdin: string, ...more: readonly string[]) =>
  callCli(['secrets', 'rekey', '--json', ...more], { env: envOf(key), stdin });

const statusOfAnother = async (url: string) =>
  (await deliver(url, bodyOf(900), 'perhaps-a-new-secret')).status;

test('a server that runs with the old SECRETS_KEY takes what it can verify, when the key was changed, and says 503 to what it cannot', async () => {
  const store = await database().open(SECRETS_KEY);
  await store.secrets.add('hook0001', SECRET);
  const { url, stop } = await runService({}, { ...envOf(SECRETS_KEY), WEBHOOK_SECRET: '' });
  expect((await deliver(url, bodyOf(1))).status).toBe(200);
  const next = randomBytes(32);
  const run = await rekey(SECRETS_KEY, next.toString('base64'));
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(run.stdout)).toEqual({ sealed: 1 });
  await expect(database().open(SECRETS_KEY)).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
  const late = store.secrets.add('hook0002', 'under-the-former-key');
  await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect((await deliver(url, bodyOf(2))).status).toBe(200);
  expect(await statusOfAnother(url)).toBe(503);
  await eventually('it is ready', async () => (await fetch(`${url}/readyz`)).ok);

  await stop();
  const again = await runService({}, { ...envOf(next), WEBHOOK_SECRET: '' });
  expect((await deliver(again.url, bodyOf(3))).status).toBe(200);
  expect(await statusOfAnother(again.url)).toBe(401);
});

test('a new key is refused with 2, when it is none, the one in use, or given where the key is in a file, and nothing is changed', async () => {
  const store = await database().open(SECRETS_KEY);
  await store.secrets.add('hook0001', SECRET);
  const runs = [
    await rekey(SECRETS_KEY, 'too short'),
    await rekey(SECRETS_KEY, SECRETS_KEY.toString('base64')),
    await rekey(Buffer.alloc(0), '', '--secret-file', 'any'),
  ];
  expect(runs.map(({ code }) => code)).toEqual([2, 2, 2]);
  for (const { stderr } of runs) expect(stderr).not.toContain(SECRETS_KEY.toString('base64'));
  expect(await (await database().open(SECRETS_KEY)).secrets.live()).toMatchObject([{ secret: SECRET }]);
});

/** All that is sealed in the database file now. */
function sealedIn(): string[] {
  const db = new Database(join(database().directory, 'receiver.db'), { readonly: true });
  const sealed = db.prepare<[], string>(
    "SELECT sealed FROM secrets UNION ALL SELECT value FROM meta WHERE name = 'key_check'",
  );
  const texts = sealed.pluck().all();
  db.close();
  return texts;
}

/** How many of these texts are in any file beside the database, whole or from their middle on. */
function found(texts: readonly string[]): number {
  const { directory } = database();
  const files = readdirSync(directory).map((name) => readFileSync(join(directory, name)));
  return texts.filter((text) => files.some((file) => file.includes(text.slice(text.length >> 1)))).length;
}

testOfFiles('what the former key sealed is in none of the files, beside a server that goes on', async () => {
  const env = { ...database().env, WEBHOOK_SECRET: SECRET };
  // In a process of its own: whoever reads files of a database that SQLite has open here takes its locks away.
  const { url } = await startProcess(env);
  const store = await database().open();
  // Of several lengths, so that rows move between pages, and some do not fit into one.
  for (let number = 0; number < 20; number++)
    await store.secrets.add(`hook${number}`, `${number}-`.repeat(10 + ((number * 37) % 400)));
  await store.close();
  const before = sealedIn();
  expect(found(before)).toBe(21);
  const statuses = new Set<number>();
  let isOn = true;
  const sending = (async () => {
    for (let number = 0; isOn; number++) statuses.add((await deliver(url, bodyOf(number))).status);
  })();
  for (let round = 0; round < 2; round++)
    expect(await runCli(['secrets', 'rekey', '--json'], { env })).toMatchObject({ code: 0 });
  isOn = false;
  await sending;
  expect([found(before), found(sealedIn())]).toEqual([0, 21]);
  expect([...statuses]).toEqual([200]);
  const after = await database().open();
  await after.secrets.add('hook0001', 'perhaps-a-new-secret');
  await after.close();
  expect(await statusOfAnother(url)).toBe(200);
});
