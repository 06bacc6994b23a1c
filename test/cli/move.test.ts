import { copyFileSync, mkdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { claimOne, waiting } from '../support/claiming.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { openAsOther } from '../support/engine.ts';
import { commandsOf } from '../support/manual.ts';
import { createDatabase, dropDatabase, SECRETS_KEY } from '../support/postgres-databases.ts';
import { callCli } from '../support/run-cli.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { verified } from '../support/verified-notification.ts';

const fileOf = directoryForEachTest();
let from: string;
beforeEach(async () => {
  from = `sqlite:${fileOf('from.db')}`;
  const store = await openAsOther(from);
  await store.secrets.add('webhook-1', 'its secret');
  await store.queue.record(verified({ media_id: 'asks' }));
  await store.queue.settle(await claimOne(store), { ...waiting(3_600_000), outcome: 'retry' });
  await store.queue.record(verified());
  await store.close();
});

test('moves every table and prints what both have, refuses while a program uses the database, and every command refuses the former one', async () => {
  const store = await openAsOther(from);
  const move = () =>
    callCli(['move', '--from', 'sqlite:from.db', '--to', 'sqlite:new/to.db'], { cwd: fileOf() });
  expect(await move()).toMatchObject({ code: 1, stderr: expect.stringContaining('other programs use') });
  await store.close();
  const moved = await move();
  expect(moved.code).toBe(0);
  expect(moved.stdout).toMatch(/^table +rows +checksum from +checksum to\n/);
  expect(moved.stdout).toMatch(/^events +2 +([0-9a-f]{16}) +\1$/m);
  expect(moved.stderr).toMatch(/^moved, and equal on both sides: start the receivers/);
  const to = await openAsOther(`sqlite:${fileOf('new/to.db')}`);
  expect(await to.secrets.live()).toHaveLength(1);
  expect(await to.queue.count({ waiting: 'asked' })).toBe(1);
  await to.close();
  const former = await callCli(['events', 'list'], { cwd: fileOf(), env: { DATABASE_URL: from } });
  expect(former).toMatchObject({ code: 1, stdout: '' });
  expect(former.stderr).toMatch(/everything in \S+from\.db was moved to another database/);
});

describeWithPostgres('a move between SQLite and PostgreSQL', (server) => {
  const databases: string[] = [];
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

  test('does as docs/scaling.md says, when its commands are typed', async () => {
    const [move = ''] = commandsOf('scaling.md', 'Move a database', 1);
    mkdirSync(fileOf('data'));
    for (const file of ['receiver.db', 'receiver.db.key'])
      copyFileSync(fileOf(file.replace('receiver', 'from')), fileOf(`data/${file}`));
    const { url, env } = await empty();
    const args = move
      .replace('npx hookkit ', '')
      .replace(/postgres:\S+/, url)
      .split(' ');
    const done = await callCli(args, { cwd: fileOf(), env });
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/^events +2 +([0-9a-f]{16}) +\1$/m);
    const listed = ['events', 'list', '--waiting', 'asked'];
    const { stdout } = await callCli(listed, { cwd: fileOf(), env: { ...env, DATABASE_URL: url } });
    expect(stdout).toMatch('media:asks');
  });
});
