import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { describeWithPostgres, postgresServer } from '../support/shared-postgres.ts';
import { atFullSize, some } from '../support/sizes.ts';
import { endAfterSuite } from './left-behind.ts';

/** The one row of a query, on a connection of its own. */
async function ask(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return rows[0];
  } finally {
    await client.end();
  }
}

await describeWithPostgres('the PostgreSQL of a test run', (server) => {
  // Another server may trust whoever connects from this machine.
  const ofOwn = process.env.TEST_DATABASE_URL === undefined ? test : test.skip;

  test('is one for all who ask, when several ask', async () => {
    const started = (url: string) => ask(url, 'SELECT pg_postmaster_start_time() AS at');
    const again = await postgresServer();
    expect(await started(again.adminUrl())).toEqual(await started(server.adminUrl()));
  });

  test('has an owner of databases who is no superuser, when tests connect as an operator does', async () => {
    const role =
      'SELECT rolsuper AS super, rolcreatedb AS creates FROM pg_roles WHERE rolname = current_user';
    expect(await ask(server.adminUrl(), role)).toMatchObject({ super: true });
    expect(await ask(server.url('postgres'), role)).toEqual({ super: false, creates: false });
  });

  ofOwn('refuses a connection, when the password is wrong', async () => {
    const wrong = new URL(server.url('postgres'));
    wrong.password = 'wrong';
    await expect(ask(wrong.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
  });
});

await describeWithPostgres('a PostgreSQL of a suite', () => {
  let server: PostgresServer;
  beforeEach(async () => {
    server = await startPostgres();
    await ask(server.adminUrl(), 'CREATE TABLE kept (n integer)');
  });
  afterEach(() => server.remove());

  const count = () => ask(server.adminUrl(), 'SELECT count(*)::integer AS n FROM kept');

  const ends: readonly (readonly [string, () => Promise<void>])[] = [
    ['stopped fast', () => server.stop('fast')],
    ['stopped at once', () => server.stop('immediate')],
    ['killed', () => server.kill()],
  ];
  test.each(some(1, ends))(
    'has what was committed, on the same port, when it was %s and started again',
    async (_how, end) => {
      const { port } = server;
      await ask(server.adminUrl(), 'INSERT INTO kept VALUES (1)');
      const open = new pg.Client(server.adminUrl());
      let isCut = false;
      open.on('error', () => {
        isCut = true;
      });
      await open.connect();
      await end();
      await eventually('its connections are cut', () => isCut);
      expect(server.isRunning).toBe(false);
      await expect(count()).rejects.toThrow('ECONNREFUSED');
      await server.start();
      expect(await count()).toEqual({ n: 1 });
      expect(server.port).toBe(port);
    },
  );

  atFullSize(test)('says why it does not start, when a setting is none', async () => {
    await expect(startPostgres({ settings: { work_mem: 'much' } })).rejects.toThrow(
      'invalid value for parameter "work_mem"',
    );
  });

  test('is gone with its folder, when its folder was removed by us', async () => {
    const { folder } = server;
    await server.remove();
    expect(existsSync(folder)).toBe(false);
  });

  test('is ended and removed, when the process that started it is killed', async () => {
    const support = new URL('../support/postgres-server.ts', import.meta.url).href;
    const script = `
      const { PostgresServer } = await import('${support}');
      const server = await PostgresServer.make();
      await server.start();
      console.log(JSON.stringify({ folder: server.folder, url: server.adminUrl() }));
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    endAfterSuite(() => child.kill('SIGKILL'));
    const [line] = await once(createInterface(child.stdout), 'line');
    const { folder, url } = JSON.parse(line);
    expect(await ask(url, 'SELECT 1 AS n')).toEqual({ n: 1 });
    child.kill('SIGKILL');
    await eventually('its folder is removed', () => !existsSync(folder));
    await expect(ask(url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
  });
});
