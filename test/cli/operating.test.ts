import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { handlers as samples } from '../../src/demo/handlers.ts';
import type { Handlers } from '../../src/dispatch/handler.ts';
import { fail } from '../../src/dispatch/outcome.ts';
import type { EventFilter } from '../../src/store/event-store.ts';
import { ENGINE, type TestDatabase, testDatabase, testOfFiles } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { install, SITE } from '../support/installation.ts';
import { commandsOf, gapsOf, textOf } from '../support/manual.ts';
import { operatorAt, providerSettings, settledOperator } from '../support/operator.ts';
import { startProxy } from '../support/proxy.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { refusals, startTraffic } from '../support/traffic.ts';

/** What the doctor finds of the server of tests, which does not wait for its disk. */
const OF_TEST_SERVER = /^FAIL +durability .*\n/gm;

/** How many events a database has, all or such. Opened for each question: some tests replace the file. */
async function countOf(database: Pick<TestDatabase, 'open'>, filter: EventFilter = {}): Promise<number> {
  const store = await database.open();
  const count = await store.queue.count(filter);
  await store.close();
  return count;
}

/** An installation and its operator. */
async function makePost() {
  const installation = await install();
  const operator = await settledOperator(installation);
  // A file lies where the documentation has it.
  const isFile = ENGINE === 'sqlite';
  const database = isFile ? await testDatabase(join(operator.directory, 'data')) : installation.database;
  if (!isFile) operator.configure(database.env);
  const hook = `${operator.url}/webhooks/media`;
  const servers: RunningService[] = [];
  const count = (status?: EventFilter['status']) => countOf(database, { status });
  return {
    installation,
    operator,
    database,
    /** The webhook_url of the operator's server. */
    hook,
    /** So many things happen at the provider, and are sent. */
    async happen(count: number): Promise<void> {
      for (let i = 0; i < count; i++) installation.mock.createChannel({ site_id: SITE });
      await installation.mock.settled();
    },
    /** How many events the operator's database has, all or of a status. */
    count,
    /** Waits until so many events are handled. */
    async handled(events: number): Promise<void> {
      const store = await database.open();
      const isSo = async () => (await store.queue.count({ status: 'handled' })) === events;
      await eventually(`${events} events are handled`, isSo);
      await store.close();
    },
    /** Types a command of the doctor, which must find nothing that fails. @returns what it prints */
    async examine(command: string): Promise<string> {
      const { stdout } = await operator.type(command, { code: ENGINE === 'postgres' ? 1 : 0 });
      const found = stdout.replace(OF_TEST_SERVER, '');
      if (/^FAIL/m.test(found)) throw new Error(`${command} finds:\n${found}`);
      return found;
    },
    /** Starts a server in this process: of most sections, what is typed beside it is the point. */
    async serve(env: Readonly<Record<string, string>> = {}, handlers: Handlers = samples) {
      const { port } = new URL(operator.url);
      const server = await runService(handlers, { ...database.env, PORT: port, WEBHOOK_SECRET: '', ...env });
      servers.push(server);
      return server;
    },
    /** Registers the documentation's 2yW4KmiG, and has its secret stored. @returns its id here */
    async register(url = hook): Promise<string> {
      const id = await installation.register(url, {}, database);
      operator.here.set('2yW4KmiG', id);
      return id;
    },
    async dispose(): Promise<void> {
      for (const server of servers) await server.stop();
      await installation.dispose();
    },
  };
}

let here: Awaited<ReturnType<typeof makePost>>;
beforeEach(async () => {
  here = await makePost();
});
afterEach(() => here.dispose());

const operating = (section: string, count: number) => commandsOf('operating.md', section, count);

/** Runs a list's command until it shows so many rows: the quarantine keeps a notification after it has been answered. */
async function listed(
  { operator }: Pick<typeof here, 'operator'>,
  command: string,
  count: number,
): Promise<string[]> {
  let rows: string[] = [];
  await eventually(`${command} shows ${count} rows`, async () => {
    rows = rowsOf((await operator.type(command)).stdout);
    return rows.length === count;
  });
  return rows;
}

/** What `webhooks list` or `quarantine list` shows, line by line, without the head. */
function rowsOf(stdout: string): string[] {
  return stdout.trimEnd().split('\n').slice(2);
}

// The first start makes a file.
testOfFiles('serves, when installed and started as written, and ends in order', async () => {
  const { operator, installation } = here;
  rmSync(join(operator.directory, '.env'));
  const [ci = '', copy = '', protect = '', start = '', ready = ''] = operating('Install and start', 5);
  for (const command of [ci, copy, protect]) await operator.type(command);
  operator.configure(providerSettings(installation));
  expect(statSync(join(operator.directory, '.env')).mode & 0o777).toBe(0o600);
  const service = await operator.start(start);
  expect((await operator.type(ready)).stdout).toBe('{"status":"ready"}');
  expect(existsSync(join(operator.directory, 'data', 'receiver.db'))).toBe(true);
  await service.stop();
});

const cli = join(import.meta.dirname, '../../bin/hookkit.js');

/** Whether this is root, and `nobody`, who has no home, may read the program. */
function canBeNobody(): boolean {
  try {
    execFileSync('runuser', ['-u', 'nobody', '--', 'test', '-r', cli], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(
      'skipped, as it takes root and a program that nobody may read: a user without a home\n',
    );
    return false;
  }
}

// The service has its database in a file.
testOfFiles('works as written, when its user has no home and can write to its state alone', async () => {
  const { operator, installation } = here;
  const commands = operating('Run it with systemd', 2);
  if (!canBeNobody()) return;
  for (const command of commands) expect(command).toMatch(/^runuser -u receiver -- node bin\/hookkit\.js /);
  operator.here.set('runuser -u receiver', 'runuser -u nobody');
  chmodSync(installation.directory, 0o755);
  const state = join(installation.directory, 'state');
  execFileSync('install', ['-d', '-o', 'nobody', '-m', '700', state]);
  operator.configure({ DATABASE_URL: `sqlite:${join(state, 'receiver.db')}` });
  const make = 'printf %s a-secret-of-a-webhook | runuser -u nobody -- node bin/hookkit.js';
  await operator.type(`${make} webhooks import --id 2yW4KmiG`);
  const [doctor = '', list = ''] = commands;
  expect((await operator.type(doctor)).stdout).toMatch(/^ok +secrets .*: 1$/m);
  await operator.type('npx hookkit secrets rekey'); // as root
  expect((await operator.type(list)).stdout).toContain('2yW4KmiG');
});

test('takes what the provider sends, when a webhook is registered as written', async () => {
  const { operator, installation, happen, handled, examine } = here;
  await operator.start('npm start');
  const [create = '', list = '', doctor = ''] = operating('Register a webhook', 3);
  const [, id] = /webhook (\w{8}) is registered/.exec((await operator.type(create)).stdout) ?? [];
  expect(rowsOf((await operator.type(list)).stdout)).toEqual([
    expect.stringMatching(new RegExp(`^${id} .* live$`)),
  ]);
  expect(await examine(doctor)).not.toMatch(/^(warn|FAIL|skipped)/m);
  await happen(5);
  expect(refusals(installation.mock)).toEqual([]);
  await handled(5);
});

test('takes over a webhook with all that came before its secret, when done as written', async () => {
  const { operator, installation, serve, hook, happen, handled, examine } = here;
  await serve();
  const { id, secret } = installation.foreignWebhook(hook);
  operator.here.set('2yW4KmiG', id);
  const file = join(operator.directory, 'secret.txt');
  writeFileSync(file, `${secret}\n`);
  await happen(3);
  expect(refusals(installation.mock)).toHaveLength(3);
  const [imported = '', remove = '', update = '', doctor = ''] = operating(
    'Take over a webhook that exists',
    4,
  );
  await operator.type(imported);
  await operator.type(remove);
  expect(existsSync(file)).toBe(false);
  await operator.type(update);
  await examine(doctor);
  await handled(3);
});

test('refuses nothing, when a secret is rotated as written while notifications come', async () => {
  const { operator, installation, serve, register, handled } = here;
  await serve();
  const old = await register();
  const traffic = startTraffic(installation.mock, SITE);
  const [rotate = '', list = ''] = operating('Rotate a secret', 2);
  const { stdout } = await operator.type(rotate);
  const [, successor] = new RegExp(`^webhook ${old} is replaced by (\\w{8}); `).exec(stdout) ?? [];
  await traffic.stop();
  expect(refusals(installation.mock)).toEqual([]);
  await handled(traffic.count);
  expect(rowsOf((await operator.type(list)).stdout)).toEqual([
    expect.stringMatching(new RegExp(`^${successor} .* live$`)),
    expect.stringMatching(new RegExp(`^${old} .* retiring at \\S+; gone at the provider$`)),
  ]);
});

test('goes on with a new secret and shows what was missed, when the old one is lost and it is done as written', async () => {
  const { operator, installation, serve, hook, happen, handled } = here;
  await serve();
  const { id } = installation.foreignWebhook(hook); // nobody knows its secret
  operator.here.set('2yW4KmiG', id);
  await happen(2);
  const [rotate = '', list = ''] = operating('The secret was lost', 2);
  expect((await operator.type(rotate)).stdout).toMatch(/the old secret was never stored/);
  await happen(3);
  expect(refusals(installation.mock).map(({ webhook_id }) => webhook_id)).toEqual([id, id]);
  await handled(3);
  await listed({ operator }, list, 2);
});

test('loses nothing, when the wrong secret was imported and the right one follows as written', async () => {
  const { operator, installation, serve, hook, happen, handled } = here;
  const service = await serve();
  const { id, secret } = installation.foreignWebhook(hook);
  operator.here.set('2yW4KmiG', id);
  writeFileSync(join(operator.directory, 'wrong.txt'), 'the-secret-of-quite-another-webhook-0123');
  writeFileSync(join(operator.directory, 'right.txt'), secret);
  await operator.type('npx hookkit webhooks import --id 2yW4KmiG --secret-file wrong.txt');
  await happen(7);
  expect(refusals(installation.mock)).toHaveLength(7);
  expect(service.log.withMessage('notification refused')[0]).toMatchObject({ reason: 'bad signature' });
  const [before = '', right = '', after = ''] = operating('The wrong secret was imported', 3);
  await listed({ operator }, before, 7);
  expect((await operator.type(right)).stdout).toMatch(/^secrets that it replaces: 1, which verify until /m);
  await handled(7);
  expect((await operator.type(after)).stdout).toBe('nothing is in quarantine\n');
});

// The key is in a file.
testOfFiles('changes the key beside a running server, which goes on, when done as written', async () => {
  const { operator, serve, register, happen, handled } = here;
  await serve();
  await register();
  const file = join(operator.directory, 'data', 'receiver.db.key');
  const before = readFileSync(file, 'utf8');
  const [rekey = ''] = operating('Change the key', 1);
  expect((await operator.type(rekey)).stdout).toContain('sealed under the new key');
  expect(readFileSync(file, 'utf8')).not.toBe(before);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await happen(2);
  await handled(2);
});

// test/store/postgres/check-server.test.ts has what is checked of a server.
testOfFiles('finds what the page says that it checks, when the doctor is called as written', async () => {
  const { operator, serve, register } = here;
  await serve();
  await register();
  const [full = '', offline = '', json = ''] = operating('Check an installation', 3);
  expect((await operator.type(full)).stdout).toMatch(/^ok +url /m);
  expect((await operator.type(offline)).stdout).toMatch(/^skipped +url +--offline$/m);
  const { ok, findings } = JSON.parse((await operator.type(json)).stdout);
  expect(ok).toBe(true);
  for (const { check } of findings) expect(textOf('operating.md')).toContain(`\n| ${check} |`);
});

// What is backed up is a file.
testOfFiles('is as it was at the backup and goes on, when backed up and restored as written', async () => {
  const { operator, installation, register, happen, count, handled } = here;
  operator.configure({ LEASE_MS: '500' }); // what was running at the backup runs again after that
  const service = await operator.start('npm start');
  await register();
  const traffic = startTraffic(installation.mock, SITE);
  await eventually('something is recorded', async () => (await count()) > 0);
  const commands = operating('Back up and restore', 8);
  const [makeDirectories = '', copy = '', copyKey = '', ...restore] = commands;
  for (const command of [makeDirectories, copy, copyKey]) await operator.type(command);
  await traffic.stop();
  await handled(traffic.count);
  await service.stop();

  const [remove = '', database = '', key = '', doctor = '', start = ''] = restore;
  for (const command of [remove, database, key]) await operator.type(command);
  const restored = await count();
  expect(restored).toBeGreaterThan(0);
  expect((await operator.type(doctor)).stdout).not.toMatch(/^FAIL/m);
  await operator.start(start);
  await happen(2); // the restored secrets verify
  expect(refusals(installation.mock)).toEqual([]);
  await handled(restored + 2);
});

// What moves is a file.
testOfFiles('refuses nothing and has the history, when moved under traffic as written', async () => {
  const { operator: old, installation, register, count, handled } = here;
  const service = await old.start('npm start');
  const id = await register();
  const next = await operatorAt(installation, 'new');
  next.here.set('2yW4KmiG', id).set('https://new.host', next.url);
  const traffic = startTraffic(installation.mock, SITE, 10);
  await eventually('something is recorded', async () => (await count()) > 0);

  const commands = operating('Move to another host', 9);
  const [makeDirectory = '', copy = '', send = '', sendSettings = '', ...onNew] = commands;
  for (const command of [makeDirectory, copy, send, sendSettings]) await old.type(command);
  const [ci = '', offline = '', start = '', update = '', doctor = ''] = onNew;
  await next.type(ci);
  expect((await next.type(offline)).stdout).not.toMatch(/^FAIL/m);
  await next.start(start);
  const there = await testDatabase(join(next.directory, 'data'));
  const moved = await countOf(there);
  expect(moved).toBeGreaterThan(0);
  await next.type(update);
  expect((await next.type(doctor)).stdout).toContain(`${next.url}/webhooks/media leads to the receiver`);
  await traffic.stop();

  expect(refusals(installation.mock)).toEqual([]);
  expect(await countOf(there)).toBeGreaterThan(moved);
  await handled(await count());
  await service.stop();
});

test('goes on where it was, when it is updated and started again as written', async () => {
  const { operator, installation, serve, register, happen, handled, examine } = here;
  const service = await serve();
  await register();
  await happen(3);
  await handled(3);
  const [pull = '', ci = '', offline = '', start = '', doctor = ''] = operating('Update to a new version', 5);
  for (const command of [pull, ci]) await operator.type(command);
  await examine(offline);
  await service.stop();
  expect(start).toBe('npm start');
  await serve();
  await examine(doctor);
  await happen(2);
  expect(refusals(installation.mock)).toEqual([]);
  await handled(5);
});

test('is reached and sees who sends, when it stands behind a proxy as written', async () => {
  const { operator, installation, serve, register, happen } = here;
  await serve({ TRUST_PROXY: '1' });
  const headers = { 'x-forwarded-for': '203.0.113.7' }; // as nginx says for whom it asks
  const { url: proxy, close } = await startProxy(operator.url, { headers });
  await register(`${proxy}/webhooks/media`);
  installation.foreignWebhook(`${proxy}/webhooks/media`, 'unknown');
  await happen(2);
  expect(refusals(installation.mock)).toHaveLength(2); // those of the unknown one
  const [doctor = '', quarantine = ''] = operating('Behind a proxy', 2);
  // The unknown one sends here, too, and that is what the doctor complains of.
  expect((await operator.type(doctor, { code: 1 })).stdout).toMatch(new RegExp(`^ok +url +${proxy}/`, 'm'));
  for (const row of await listed({ operator }, quarantine, 2)) expect(row).toMatch(/ 203\.0\.113\.7$/);
  await close();
});

// What shrinks is a file.
testOfFiles('removes what is old, knows it still, and shrinks the file, when done as written', async () => {
  const { operator, installation, database, serve, register, happen, count, handled } = here;
  const service = await serve();
  await register();
  await happen(5);
  await handled(5);
  await service.stop();
  const sqlite = 'UPDATE events SET ended_at = ended_at - 91 * 86400000';
  await database.execute({ sqlite, postgres: '' });

  const again = await serve({ RETENTION_DAYS: '90' });
  const isPruned = async () =>
    (await again.store.queue.search({ limit: 5 })).events.every(({ body }) => !body);
  await eventually('the old ones are pruned', isPruned);
  expect(await count()).toBe(5);
  const [first] = installation.mock.deliveries();
  installation.mock.redeliver(first?.id ?? '');
  await installation.mock.settled();
  expect(installation.mock.deliveries().at(-1)?.attempts[0]?.answer?.body).toContain('"duplicate"');

  const [doctor = '', size = '', shrink = '', start = ''] = operating('Keep the database small', 4);
  await operator.type(doctor);
  expect((await operator.type(size)).stdout).toMatch(/^\S+\tdata\/receiver\.db$/m);
  await again.stop();
  await operator.type(shrink);
  expect(start).toBe('npm start');
  await serve();
  expect(await count()).toBe(5);
});

test('is handled after all, when an event died, its cause is put right, and it is replayed as written', async () => {
  const { operator, serve, register, happen, count, handled } = here;
  const service = await serve({}, { channel_created: () => fail('the page of live channels is down') });
  await register();
  await happen(3);
  await eventually('all are dead', async () => (await count('dead')) === 3);
  await service.stop();
  await serve();
  const [list = '', dryRun = '', replay = '', dismiss = ''] = operating('Dead events', 4);
  const { stdout } = await operator.type(list);
  expect(rowsOf(stdout)).toHaveLength(3);
  expect(stdout).toContain('the page of live channels is down');
  await operator.type(dryRun);
  expect(await count('dead')).toBe(3);
  expect((await operator.type(`${dismiss} --dry-run`)).stdout).toBe('3 events would be dismissed\n');
  expect(await count('dead')).toBe(3);
  await operator.type(dismiss);
  expect(await count('dismissed')).toBe(3);
  await operator.type(replay.replace('dead', 'dismissed'));
  await handled(3);
});

test('is gone, when a media and a site are erased as written', async () => {
  const { operator, serve, register, happen, handled } = here;
  await serve();
  await register();
  await happen(3);
  await handled(3);
  const [dryRun = '', site = '', media = ''] = operating('Personal data', 3);
  expect((await operator.type(dryRun)).stdout).toMatch(/^3 events .* would be erased; running now: 0/);
  expect((await operator.type(site)).stdout).toBe('3 events and 0 in quarantine erased\n');
  expect((await operator.type(media)).stdout).toBe('0 events and 0 in quarantine erased\n');
});

test('starts no handler and loses nothing, when handling is paused as written, until it is resumed', async () => {
  const { operator, serve, register, happen, count, handled, examine } = here;
  await serve();
  await register();
  const [status = '', json = ''] = operating('See whether the work is being done', 2);
  const [pause = '', resume = ''] = operating('Pause handling', 2);
  await operator.type(pause);
  await happen(2);
  expect((await operator.type(status, { code: 1 })).stdout).toMatch(/^grave +Handling has been paused/);
  expect(JSON.parse((await operator.type(json, { code: 1 })).stdout)).toMatchObject({
    events: { pending: 2, running: 0 },
  });
  expect(await examine('npx hookkit doctor')).toMatch(/^warn +events +.* npx hookkit resume/m);
  expect(await count('pending')).toBe(2);
  expect((await operator.type(resume)).stdout).toContain('goes on');
  await handled(2);
});

const source = join(import.meta.dirname, '../..', 'src');
const rooms = /^(\w+\.ts|cli\/serve\.ts|(base|receiver|store|dispatch|inspector|reconcile)\/.*\.ts)$/;
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => rooms.test(file));
const texts = files.map((file) => readFileSync(join(source, file), 'utf8').replace(/^ *(\*|\/\/).*$/gm, ''));

/** What the server logs, where a message is a plain text. */
const messages = texts.flatMap((text) =>
  [
    ...text.matchAll(/\blog\s*\.(?:debug|info|warn|error|fatal)\(\s*(?:\{[^}]*\}|[\w.]+)?,?\s*'([^']+)'/g),
  ].map(([, message = '']) => message),
);

test('is explained in the documentation, whatever the server logs', () => {
  expect(messages.length).toBeGreaterThan(10);
  const page = textOf('operating.md').split('## What the log says')[1];
  for (const message of messages) expect(page).toContain(`\`${message}\``);
});

test('every section with commands has a test here, and the list at the top leads to all sections', () => {
  expect(gapsOf('operating.md', import.meta.filename)).toEqual([]);
});
