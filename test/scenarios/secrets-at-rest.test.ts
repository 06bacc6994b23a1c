import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { databaseForEachTest, ENGINE } from '../support/engine.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { connected } from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';
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
  const run = await runCli(['webhooks', 'import', '--id', 'hook0001'], { env, stdin: SECRET });
  expect(run.code).toBe(0);
  const service = await startProcess(env);
  const store = await database().open();
  for (const secret of MORE) await store.addSecret('hook0002', secret);
  for (let number = 0; number < 20; number++)
    expect((await deliver(service.url, bodyOf(number))).status).toBe(200);
  for (const secret of MORE.slice(0, 10)) await store.retireSecret('hook0002', secret, systemClock.now());
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
