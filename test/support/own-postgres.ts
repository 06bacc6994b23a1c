import { afterAll } from '@jest/globals';
import { type PostgresOptions, PostgresServer } from './postgres-server.ts';

/** A server for one suite, which may stop, kill and start it; or a standby of one. It is removed after the suite. */
export async function startPostgres(
  options: PostgresOptions = {},
  primary?: PostgresServer,
): Promise<PostgresServer> {
  const server = await PostgresServer.start(options, primary);
  started.push(server);
  return server;
}

const started: PostgresServer[] = [];
afterAll(() => Promise.all(started.map((server) => server.remove())));
