import { endAfterSuite } from './left-behind.ts';
import { type PostgresOptions, PostgresServer } from './postgres-server.ts';

/** A server for one suite, which may stop, kill and start it; the suite removes it. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const server = await PostgresServer.make(options);
  endAfterSuite(() => server.abandon());
  await server.start();
  return server;
}

/** A standby of a server, under a name by which that one knows it; otherwise the same. */
export async function startStandby(
  primary: PostgresServer,
  name: string,
  options: PostgresOptions = {},
): Promise<PostgresServer> {
  const server = await PostgresServer.make(options);
  endAfterSuite(() => server.abandon());
  await server.follow(primary, name);
  await server.start();
  return server;
}
