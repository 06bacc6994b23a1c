import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { commandsOf } from '../support/manual.ts';
import { deliver, SECRET } from '../support/notifications.ts';
import {
  connected,
  createDatabase,
  dropDatabase,
  leftByPrograms,
  SECRETS_KEY,
} from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';
import { startProcess } from '../support/service-process.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

let directory: string;
let from: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  from = `sqlite:${join(directory, 'from.db')}`;
  const store = await openStore({ url: from, clock: systemClock, threads: false });
  await store.addSecret('webhook-1', 'its secret');
  await store.record(verified());
  await store.close();
});
afterEach(() => rmSync(directory, { recursive: true }));

test('moves a database and prints what both have, when the paths are relative, and every command refuses the former one', async () => {
  const moved = await runCli(['move', '--from', 'sqlite:from.db', '--to', 'sqlite:new/to.db'], {
    cwd: directory,
  });
  expect(moved.code).toBe(0);
  expect(moved.stdout).toMatch(/^table +rows +checksum from +checksum to\n/);
  expect(moved.stdout).toMatch(/^events +1 +([0-9a-f]{16}) +\1$/m);
  expect(moved.stderr).toMatch(/^moved, and equal on both sides: start the receivers/);

  const list = ['events', 'list'];
  const former = await runCli(list, { cwd: directory, env: { DATABASE_URL: from } });
  expect(former).toMatchObject({ code: 1, stdout: '' });
  expect(former.stderr).toContain(
    `everything in ${join(directory, 'from.db')} was moved to another database`,
  );
  const listed = await runCli(list, { cwd: directory, env: { DATABASE_URL: 'sqlite:new/to.db' } });
  expect(listed.stdout).toContain('media_available');
});

test('leaves no new database behind, when it is refused, and one that was there as it was', async () => {
  const move = (to: string) =>
    runCli(['move', '--from', 'sqlite:from.db', '--to', `sqlite:${to}`], { cwd: directory });
  const server = await openStore({
    url: `sqlite:${join(directory, 'from.db')}`,
    clock: systemClock,
    threads: false,
  });
  const before = readdirSync(directory);
  const refused = await move('to.db');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('other programs use ') });
  expect(readdirSync(directory)).toEqual(before);
  await (
    await openStore({ url: `sqlite:${join(directory, 'there.db')}`, clock: systemClock, threads: false })
  ).close();
  expect((await move('there.db')).code).toBe(1);
  expect(existsSync(join(directory, 'there.db'))).toBe(true);
  await server.close();

  expect((await move('to.db')).code).toBe(0);
  const again = await move('other.db');
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('was moved to another database') });
  expect(readdirSync(directory).filter((name) => name.startsWith('other'))).toEqual([]);
});

describeWithPostgres('a move between SQLite and PostgreSQL', (server) => {
  const databases: string[] = [];
  const otherKey = Buffer.alloc(32, 9);
  afterEach(async () => {
    for (const name of databases.splice(0)) await dropDatabase(server, name);
  });

  /** A database that is empty, by its URL without the password, and the environment for commands. */
  async function empty() {
    const name = await createDatabase(server);
    databases.push(name);
    const url = new URL(server.url(name));
    const env = { PGPASSWORD: url.password, SECRETS_KEY: SECRETS_KEY.toString('base64') };
    url.password = '';
    return { url: url.href, env, name };
  }

  test('fails as any command that makes no database does, when nothing is in the one that it names, and leaves it so', async () => {
    const { url, env, name } = await empty();
    await connected(server.adminUrl(name), (admin) => admin.query('DROP SCHEMA hookkit CASCADE'));
    const commands = [
      ['move', '--from', url, '--to', 'sqlite:to.db'],
      ['events', 'list'],
    ];
    for (const args of commands) {
      const failed = await runCli(args, { cwd: directory, env: { ...env, DATABASE_URL: url } });
      expect({ args, ...failed }).toEqual({
        ...{ args, code: 1, stdout: '' },
        stderr: expect.stringContaining('there is nothing of hookkit in the database'),
      });
    }
    const made = await connected(server.adminUrl(name), (admin) =>
      admin.query("SELECT to_regnamespace('hookkit') AS schema"),
    );
    expect(made.rows).toEqual([{ schema: null }]);
    expect(existsSync(join(directory, 'to.db'))).toBe(false);
  });

  test('does as docs/scaling.md says, when its commands are typed', async () => {
    const [move = '', ...rest] = commandsOf('scaling.md', 'Move a database');
    expect(rest).toEqual([]);
    mkdirSync(join(directory, 'data'));
    for (const file of ['receiver.db', 'receiver.db.key'])
      copyFileSync(join(directory, file.replace('receiver', 'from')), join(directory, 'data', file));
    const { url, env } = await empty();
    const args = move
      .replace('npx hookkit ', '')
      .replace(/postgres:\S+/, url)
      .split(' ');
    const done = await runCli(args, { cwd: directory, env });
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/^events +1 +([0-9a-f]{16}) +\1$/m);
  });

  test('seals the secrets under the key of the new database, when each has its own', async () => {
    const { url, env, name } = await empty();
    const there = await runCli(['move', '--from', from, '--to', url, '--json'], { env });
    expect(there).toMatchObject({ code: 0, stderr: '' });
    const [events] = JSON.parse(there.stdout).tables;
    expect(events).toMatchObject({ table: 'events', rows: 1, to: events.from });

    await leftByPrograms(server, name);
    const back = `sqlite:${join(directory, 'back.db')}`;
    const keyFile = join(directory, 'former.key');
    writeFileSync(keyFile, env.SECRETS_KEY);
    const returned = await runCli(['move', '--from', url, '--to', back, '--from-key-file', keyFile], {
      env: { ...env, SECRETS_KEY: otherKey.toString('base64') },
    });
    expect(returned.code).toBe(0);
    const store = await openStore({ url: back, clock: systemClock, secretsKey: otherKey, threads: false });
    expect((await store.secrets()).map(({ secret }) => secret)).toEqual(['its secret']);
    await store.close();
  });

  test('leaves nothing to a receiver that stood still meanwhile, which answers 503 with the reason in its log when it goes on', async () => {
    const { url, env, name } = await empty();
    const receiver = await startProcess({ ...env, DATABASE_URL: url, WEBHOOK_SECRET: SECRET });
    const send = (media_id: string) => deliver(receiver.url, JSON.stringify(notification({ media_id })));
    expect((await send('before')).status).toBe(200);
    receiver.child.kill('SIGSTOP');
    await connected(server.adminUrl(name), (admin) =>
      admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hookkit' AND datname = $1",
        [name],
      ),
    );
    const to = `sqlite:${join(directory, 'to.db')}`;
    expect(await runCli(['move', '--from', url, '--to', to], { env })).toMatchObject({ code: 0 });
    receiver.child.kill('SIGCONT');
    expect((await send('after')).status).toBe(503);
    await eventually(
      'it says that it is not ready',
      async () => (await fetch(`${receiver.url}/readyz`)).status === 503,
    );
    expect(receiver.output()).toContain('was moved to another database: use that one');
    receiver.child.kill('SIGTERM');
    await receiver.exited;
    const store = await openStore({ url: to, clock: systemClock, secretsKey: SECRETS_KEY, threads: false });
    expect(await store.count({})).toBe(1);
    await store.close();
  });
});
