import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createDatabase, dropDatabase, leftByPrograms, SECRETS_KEY } from '../support/postgres-databases.ts';
import { type CliOptions, runCli } from '../support/run-cli.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { makeManyEvents } from './many-events.ts';

const EVENTS = size({ small: 20_000, full: 200_000 });
const KILLS = size({ small: 3, full: 10 });

describeWithPostgres('a database that is moved', (server) => {
  test(`has every event, when ${EVENTS} are moved to PostgreSQL and back, and each move is killed ${KILLS} times and begins again`, async () => {
    const directory = await temporaryDirectory();
    const name = await createDatabase(server);
    const url = new URL(server.url(name));
    const env = { PGPASSWORD: url.password, SECRETS_KEY: SECRETS_KEY.toString('base64') };
    url.password = '';
    const path = join(directory, 'first.db');
    const [first, last] = [`sqlite:${path}`, `sqlite:${join(directory, 'last.db')}`];

    /** The hash of what `events export` writes of a database: every notification, in the order of receipt. */
    const exported = async (from: string): Promise<string> => {
      const out = join(directory, 'exported.ndjson');
      const run = await runCli(['events', 'export', '--out', out], { env: { ...env, DATABASE_URL: from } });
      expect(run).toMatchObject({ code: 0 });
      const hash = createHash('sha256').update(readFileSync(out)).digest('hex');
      rmSync(out);
      return hash;
    };
    const moveKilled = async (from: string, to: string) => {
      const move = (options: CliOptions = {}) =>
        runCli(['move', '--from', from, '--to', to], { ...options, env });
      let killed = 0;
      for (let afterMs = 600; killed < KILLS; afterMs += 150) {
        await leftByPrograms(server, name);
        const onSpawn: CliOptions['onSpawn'] = (child) =>
          void setTimeout(() => child.kill('SIGKILL'), afterMs);
        if ((await move({ onSpawn })).code === 0) break; // it was faster
        killed++;
      }
      expect(killed).toBeGreaterThan(0);
      await leftByPrograms(server, name);
      if (killed === KILLS) expect(await move()).toMatchObject({ code: 0 });
    };

    await makeManyEvents({ path, events: EVENTS, secretsKey: SECRETS_KEY });
    const before = await exported(first);
    await moveKilled(first, url.href);
    await moveKilled(url.href, last);
    expect(await exported(last)).toBe(before);
    await dropDatabase(server, name);
  });
});
