import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { startKept } from './kept-process.ts';
import { endAfterSuite } from './left-behind.ts';
import { type DatabaseServer, give, runner } from './postgres-server.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/**
 * Starts a PgBouncer in transaction mode, with the settings that it has by itself, for one suite.
 * @param connections how many it has to the server for each database
 */
export async function startPgBouncer(server: DatabaseServer, connections: number) {
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
default_pool_size = ${connections}
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
