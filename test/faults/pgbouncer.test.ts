import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { Random } from '../../src/mock/random.ts';
import { freePort } from '../support/free-port.ts';
import { startKept } from '../support/kept-process.ts';
import { endAfterSuite } from '../support/left-behind.ts';
import { type DatabaseServer, give, runner } from '../support/postgres-server.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { describeWith } from '../support/tools.ts';
import { pause, Receivers } from './receivers.ts';

/** Fewer than a store has, so that stores get each other's. */
const CONNECTIONS = 2;
const KILLS = size({ small: 3, full: 9 });

describeWithPostgres('PgBouncer before PostgreSQL', (server) =>
  describeWith('pgbouncer', 'in transaction mode', () => {
    let bouncer: Awaited<ReturnType<typeof startPgBouncer>>;
    beforeAll(async () => {
      bouncer = await startPgBouncer(server);
    });

    test(`has three receivers lose nothing and never run two events of one media at once, when they share its connections and one is killed, ${KILLS} times`, async () => {
      const random = new Random(20_261_127);
      const receivers = await Receivers.on(server, { urlOf: (database) => bouncer.url(database) });
      for (const at of [0, 1, 2]) await receivers.start(at);
      receivers.send();
      for (let round = 0; round < KILLS; round++) {
        await pause(500 + random.int(600));
        await receivers.kill(round % 3);
        await receivers.start(round % 3);
      }
      await receivers.finishWhole();
      expect(receivers.acknowledged.size).toBeGreaterThan(10 * KILLS);
    });
  }),
);

/** Starts a PgBouncer in transaction mode, with the settings that it has by itself. */
async function startPgBouncer(server: DatabaseServer) {
  const { hostname, port: serverPort, username, password } = new URL(server.url('any'));
  const port = await freePort();
  const folder = await temporaryDirectory();
  const config = join(folder, 'pgbouncer.ini');
  const users = join(folder, 'users');
  await writeFile(users, `"${username}" "${decodeURIComponent(password)}"\n`);
  await writeFile(
    config,
    `[databases]
* = host=${hostname} port=${serverPort || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${CONNECTIONS}
max_client_conn = 1000
`,
  );
  await give(folder);
  const lines: string[] = [];
  const bouncer = await startKept(['pgbouncer', config], {
    folder,
    as: runner,
    onLine: (line) => lines.push(line),
    isReady: (line) => line.includes('process up'),
  });
  if (!bouncer) throw new Error(`PgBouncer does not start:\n${lines.join('\n')}`);
  endAfterSuite(() => process.kill(bouncer.pid, 'SIGQUIT'));
  return {
    /** As `url` of the server, through the pooler: each transaction of a client may get another connection. */
    url(database: string) {
      const url = new URL(server.url(database));
      url.host = `127.0.0.1:${port}`;
      return url.href;
    },
  };
}
