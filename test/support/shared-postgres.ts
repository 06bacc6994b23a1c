import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe } from '@jest/globals';
import type { DatabaseServer } from './postgres-server.ts';

/** What the desk of a run (test/jest/postgres-desk.ts) says of its server. */
export type SharedAnswer =
  | { readonly run: string; readonly url: string; readonly adminUrl: string }
  | { readonly missing: string };

/** The one server of a test run. */
export interface SharedPostgres extends DatabaseServer {
  /** Begins the name of each database that this run makes: the server may have others. */
  readonly run: string;
}

/**
 * The server of this run, started for the first that asks. Nobody stops it; see startPostgres for one that a suite may kill.
 * @throws where none can be started, with the reason
 */
export async function postgresServer(): Promise<SharedPostgres> {
  const desk = process.env.POSTGRES_DESK;
  if (desk === undefined) throw new Error('there is a shared PostgreSQL only in a run of Jest');
  const answer: SharedAnswer = JSON.parse(await text(connect(desk)));
  if ('missing' in answer) throw new Error(answer.missing);
  const { run, url, adminUrl } = answer;
  return {
    run,
    url: (database) => withDatabase(url, database),
    adminUrl: (database) => (database === undefined ? adminUrl : withDatabase(adminUrl, database)),
  };
}

/** `describe`, where a PostgreSQL can be started; else its tests are skipped, and a line says why. */
export async function describeWithPostgres(
  name: string,
  tests: (server: SharedPostgres) => void,
): Promise<void> {
  let server: SharedPostgres;
  try {
    server = await postgresServer();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`skipped, as no PostgreSQL can be started here (${reason}): ${name}\n`);
    // Jest takes a suite without tests for a mistake.
    describe.skip(name, () => tests(NONE));
    return;
  }
  describe(name, () => tests(server));
}

const NONE: SharedPostgres = {
  run: 'none',
  url: () => {
    throw new Error('there is no PostgreSQL here');
  },
  adminUrl: () => {
    throw new Error('there is no PostgreSQL here');
  },
};

function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
