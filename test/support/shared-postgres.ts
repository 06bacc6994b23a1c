import { afterAll, describe } from '@jest/globals';
import type { DatabaseServer, PostgresOptions, PostgresServer } from './postgres-server.ts';

/** What global-setup.ts says of the server of this run. */
export type SharedAnswer = { readonly url: string; readonly adminUrl: string } | { readonly missing: string };

/**
 * The one server of this run. Nobody stops it; see startPostgres for one that a suite may kill.
 * @throws where none can be started, with the reason
 */
export function postgresServer(): DatabaseServer {
  const answer: SharedAnswer = JSON.parse(process.env.TEST_POSTGRES ?? '{"missing":"Jest starts it"}');
  if ('missing' in answer) throw new Error(answer.missing);
  const { url, adminUrl } = answer;
  return {
    url: (database) => withDatabase(url, database),
    adminUrl: (database) => (database === undefined ? adminUrl : withDatabase(adminUrl, database)),
  };
}

/** `describe`, where a PostgreSQL can be started; else its tests are skipped, and a line says why. */
export function describeWithPostgres(name: string, tests: (server: DatabaseServer) => void): void {
  let server: DatabaseServer;
  try {
    server = postgresServer();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`skipped, as no PostgreSQL can be started here (${reason}): ${name}\n`);
    // Jest takes a suite without tests for a mistake.
    describe.skip(name, () => tests(NONE));
    return;
  }
  describe(name, () => tests(server));
}

const none = () => {
  throw new Error('there is no PostgreSQL here');
};
const NONE: DatabaseServer = { url: none, adminUrl: none };

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** A server for one suite, which may stop, kill and start it; or a standby of one. It is removed after the suite. */
export async function startPostgres(
  options: PostgresOptions = {},
  primary?: PostgresServer,
): Promise<PostgresServer> {
  const own = await import('./postgres-server.ts');
  const server = await own.PostgresServer.start(options, primary);
  started.push(server);
  return server;
}

const started: PostgresServer[] = [];
afterAll(() => Promise.all(started.map((server) => server.remove())));
