import { type ChildProcess, execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createDatabase, dropDatabase, leftByPrograms, SECRETS_KEY } from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { makeManyEvents } from './many-events.ts';

const EVENTS = size({ small: 20_000, full: 200_000 });
const KILLS = size({ small: 3, full: 10 });

describeWithPostgres('a database that is moved', (server) => {
  let directory: string;
  let name: string;
  let env: Readonly<Record<string, string>>;
  beforeEach(async () => {
    directory = await temporaryDirectory();
    name = await createDatabase(server);
    const { password } = new URL(server.url(name));
    env = { PGPASSWORD: password, SECRETS_KEY: SECRETS_KEY.toString('base64') };
  });
  afterEach(async () => {
    rmSync(directory, { recursive: true });
    await dropDatabase(server, name);
  });

  /** What `events export` writes of a database: every notification, in the order of receipt. */
  async function exported(url: string, file: string): Promise<string> {
    const out = join(directory, file);
    const run = await runCli(['events', 'export', '--out', out], { env: { ...env, DATABASE_URL: url } });
    expect(run).toMatchObject({ code: 0 });
    return execFileSync('sha256sum', { input: readFileSync(out), encoding: 'utf8' });
  }

  test(`has every event, when ${EVENTS} are moved to PostgreSQL and back, and each move is killed ${KILLS} times and begins again`, async () => {
    const sqlite = (file: string) => `sqlite:${join(directory, file)}`;
    const url = new URL(server.url(name));
    url.password = '';
    const [first, postgres, last] = [sqlite('first.db'), url.href, sqlite('last.db')];
    await makeManyEvents({
      path: join(directory, 'first.db'),
      events: EVENTS,
      status: 'handled',
      secretsKey: SECRETS_KEY,
    });
    const before = await exported(first, 'before.ndjson');
    for (const [from, to] of [
      [first, postgres],
      [postgres, last],
    ] as const) {
      const move = (onSpawn?: (child: ChildProcess) => void) =>
        runCli(['move', '--from', from, '--to', to], { env, ...(onSpawn && { onSpawn }) });
      let killed = 0;
      for (let afterMs = 600; killed < KILLS; afterMs += 150) {
        await leftByPrograms(server, name);
        const { code } = await move((child) => void setTimeout(() => child.kill('SIGKILL'), afterMs));
        if (code === 0) break; // it was faster
        killed++;
      }
      expect(killed).toBeGreaterThan(0);
      await leftByPrograms(server, name);
      if (killed === KILLS) expect(await move()).toMatchObject({ code: 0 });
    }
    expect(await exported(last, 'after.ndjson')).toBe(before);
  });
});
