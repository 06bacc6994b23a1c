import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import pg from 'pg';
import { type TestDatabase, testDatabase } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, SECRET } from '../support/notifications.ts';
import { connected, SECRETS_KEY } from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';
import { startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { toldOf } from './told.ts';

/**
 * `npm run fixtures` makes the databases of this release, which releases.test.ts reads: real receivers and commands fill every table. Each
 * is kept as SQL: the statements by which the program made its tables, and its rows.
 */
const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const settings = {
  SECRETS_KEY: SECRETS_KEY.toString('base64'),
  HANDLERS: join(import.meta.dirname, 'app.ts'),
  QUARANTINE_MAX_BYTES: '1600',
  SHUTDOWN_GRACE_MS: '100',
  RETRY_BASE_MS: '1800000',
  LEASE_MS: '5000',
};

async function fill(database: TestDatabase): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const ago = (seconds: number) => new Date((now - seconds) * 1000).toISOString().replace('.000', '');
  const bodyOf = (id: string, event = 'media_available', more = {}) => {
    const given = { webhook_id: 'hook0001', site_id: 'site0001', event_time: ago(60), ...more };
    return JSON.stringify({ event, [event === 'channel_active' ? 'channel_id' : 'media_id']: id, ...given });
  };
  const env = { ...database.env, ...settings };
  await using store = await database.open(SECRETS_KEY);
  const cli = async (args: string) =>
    expect(await runCli(args.split(' '), { env })).toMatchObject({ code: 0 });
  /** Waits until an event of a resource has a status, or an origin. */
  const reached = (resource: string, what: string) =>
    eventually(`${resource} ${what}`, async () => {
      const found = await store.queue.search({ filter: { resource, subscriber: '' }, limit: 9 });
      return found.events.some(({ status, origin }) => status === what || origin === what);
    });
  const runsIn = (name: string) =>
    eventually(`${name} runs a handler`, async () =>
      (await store.reports.atWork()).some((one) => one.isRunning && one.instance === name),
    );

  await store.secrets.add('hook0001', SECRET);
  await store.secrets.add('hook0002', `another ${SECRET}`);
  await store.secrets.retire('hook0003', `former ${SECRET}`, Date.now());

  let receiver = await startProcess({ ...env, INSTANCE_NAME: 'one', EVERY: '1s' }); // schedules come soon, and notifications are traced
  const send = async (body: string, secret = SECRET, status = 200) =>
    expect([body, (await deliver(receiver.url, body, secret)).status]).toEqual([body, status]);
  const media = 'whole reminding unwanted refused mistaken failing asking pruned erased';
  for (const id of media.split(' ')) await send(bodyOf(id));
  await send(bodyOf('live', 'channel_active'));
  await send(bodyOf('whole', 'media_available', { webhook_id: 'hook0002' }), `another ${SECRET}`);
  await send(bodyOf('rated', 'media_rated'));
  await send(bodyOf('odd', 'media_updated', { site_id: undefined }));
  for (const id of ['kept', 'kept', 'lost', 'newest']) await send(bodyOf(id), 'a wrong secret', 401);
  for (const id of ['whole', 'erased', 'pruned', 'missed']) await reached(`media:${id}`, 'handled');
  await send(bodyOf('whole', 'media_updated', { event_time: ago(120) })); // late
  await send(bodyOf('missed', 'media_updated', { event_time: ago(3590) })); // which is reconciled by now
  await reached('media:refused', 'dead');
  await reached('media:mistaken', 'dead');
  await reached('media:whole', 'reminder');
  await reached('schedule:digest', 'handled');
  await cli('events dismiss --resource media:mistaken --subscriber main --reason mistaken');
  await cli('events prune --resource media:pruned --older-than 0s');
  await cli('erase --media erased');
  await send(bodyOf('stuck'));
  await runsIn('one');
  await receiver.stop();

  // Each of these dies with the event that it runs, and the event is a suspect in the end.
  for (const name of ['two', 'three', 'four']) {
    receiver = await startProcess({ ...env, INSTANCE_NAME: name, ALERT_URL: 'http://127.0.0.1:9' });
    await runsIn(name);
    if (name === 'two') await eventually('it alerts', () => receiver.output().includes('alert was not'));
    if (name !== 'four') await receiver.kill();
  }
  // The first runs, the second is over the limit, and the third is behind the suspect.
  for (const id of ['first', 'second', 'stuck']) await send(bodyOf(id, 'track_created', { track_id: id }));
  await send(bodyOf('last', 'media_updated'));
  await reached('media:last', 'handled');
  await receiver.kill();
  const imported = join(await temporaryDirectory(), 'payloads.ndjson');
  writeFileSync(imported, bodyOf('imported'));
  await cli(`events import ${imported}`);
  await cli('pause --reason moving');
  // A replay that is cut off.
  await new Promise<void>((resolve) => {
    const onStep = () => new Promise<void>(() => resolve());
    void store.queue.replay({ resource: 'media:whole', kind: 'media_available' }, { onStep });
  });
}

/** @throws Error for an empty table, with which no later version would be tested */
function insertInto(table: string, rows: readonly string[], how = ''): string {
  if (rows.length === 0) throw new Error(`fill() leaves ${table} empty: have it make a row`);
  return `INSERT INTO ${table}${how} VALUES ${rows};`;
}

function dumpOfSqlite(path: string): string[] {
  const db = new Database(path);
  const all = (sql: string) => db.prepare(sql).pluck().all() as string[];
  const pragmas = ['journal_mode', 'user_version', 'application_id'];
  const tables = all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid");
  const rows = tables.map((table) => {
    const columns = all(`SELECT 'quote(' || name || ')' FROM pragma_table_info('${table}')`);
    return insertInto(table, all(`SELECT '(' || concat_ws(', ', ${columns}) || ')' FROM ${table}`));
  });
  return [
    ...pragmas.map((name) => `PRAGMA ${name} = ${db.pragma(name, { simple: true })};`),
    ...all("SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid"),
    ...rows,
  ];
}

/** The statements by which the program made tables in PostgreSQL. SQLite keeps them itself. */
const made: string[] = [];
const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  const [first] = given as [string | { readonly text: string }];
  const text = (typeof first === 'string' ? first : first.text).trim().replace(/;$/, '');
  if (/^(CREATE (TABLE|INDEX)|ALTER TABLE)/.test(text)) made.push(`${text};`);
  return query.apply(this, given);
} as never;

const dumpOfPostgres = (url: string) =>
  connected(url, async (client) => {
    const all = async (sql: string): Promise<string[]> =>
      (await client.query({ text: sql, rowMode: 'array' })).rows.flat();
    const lines = ['CREATE SCHEMA hookkit;', 'SET search_path = hookkit;', ...made];
    await client.query('SET search_path = hookkit');
    for (const table of made.flatMap((sql) => /^CREATE TABLE (\w+)/.exec(sql)?.[1] ?? [])) {
      const columns = await all(`SELECT 'quote_nullable(' || attname || ')' FROM pg_attribute
        WHERE attrelid = '${table}'::regclass AND attnum > 0 ORDER BY attnum`);
      const values = await all(`SELECT '(' || concat_ws(', ', ${columns}) || ')' FROM ${table}`);
      lines.push(insertInto(table, values, ' OVERRIDING SYSTEM VALUE'));
    }
    const places = 'SELECT setval(%L, %s);';
    return [
      ...lines,
      ...(await all(`SELECT format('${places}', sequencename, last_value) FROM pg_sequences`)),
    ];
  });

test.each(['sqlite', 'postgres'] as const)(
  'the database of this release is made on %s',
  async (engine) => {
    const file = join(root, 'test/fixtures', version, `${engine}.sql`);
    if (existsSync(file)) throw new Error(`${file} is there: what was released stays as it is`);
    const directory = await temporaryDirectory();
    const database = await testDatabase(directory, engine);
    await fill(database);
    const url = database.env.DATABASE_URL ?? '';
    const lines =
      engine === 'sqlite' ? dumpOfSqlite(join(directory, 'receiver.db')) : await dumpOfPostgres(url);
    mkdirSync(join(file, '..'), { recursive: true });
    const text = [`-- of ${version}, at ${Date.now()}`, ...lines].join('\n');
    writeFileSync(file, `${text.replaceAll(root, '/srv/receiver')}\n`);
    const told = JSON.stringify(await toldOf({ ...database.env, ...settings }));
    writeFileSync(file.replace('.sql', '.json'), `${told.replaceAll(root, '/srv/receiver')}\n`);
    await database.remove();
  },
  300_000,
);
