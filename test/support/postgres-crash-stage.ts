import pg from 'pg';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Contents, CrashStageFactory } from './crash-stage.ts';
import { DriverFaults } from './driver-faults.ts';
import { eventually } from './eventually.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from './postgres-databases.ts';
import type { SharedPostgres } from './shared-postgres.ts';

/** For each store; more than one, so that what is done at once meets in the server. */
const CONNECTIONS = 3;

/** What begins and ends transactions. A COMMIT that fails after it was done is told apart by nobody: see the tests that kill servers. */
const BOUNDARY = /^\s*(BEGIN|COMMIT|ROLLBACK)\b/;
const READING = /^BEGIN\b[^;]*\bREAD ONLY\b/;
/** A statement of which the COMMIT is sent along. */
const ALONE = /^BEGIN TRANSACTION\b/;

/** Each call of the driver is a statement. After a crash the next processes find the database under another name. */
export function postgresStage(server: SharedPostgres): CrashStageFactory {
  return async () => {
    const clock = new VirtualClock();
    const faults = new DriverFaults();
    const first = await createDatabase(server);
    let name = first;
    let crashes = 0;
    const stores: PostgresStore[] = [];
    const unwatch = watchStatements(faults, (database) => database === name);
    let reader: ReturnType<typeof openReader> | undefined;
    const leave = async () => {
      await (await reader)?.close();
      reader = undefined;
    };
    return {
      clock,
      faults,
      takesApart: true,
      newKey: Buffer.alloc(32, 8),
      async open() {
        const store = await PostgresStore.open({
          url: server.url(name),
          clock,
          timeOfDatabase: clock,
          secretsKey: SECRETS_KEY,
          connections: CONNECTIONS,
          tidies: false,
        });
        stores.push(store);
        return store;
      },
      async crash() {
        await leave();
        const next = `${first}_${++crashes}`;
        await connected(server.adminUrl(), async (admin) => {
          await eventually('all connections are cut', async () => {
            const { rowCount } = await admin.query(
              'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
              [name],
            );
            return rowCount === 0;
          });
          await admin.query(`ALTER DATABASE ${name} RENAME TO ${next}`);
        });
        name = next;
        await Promise.all(stores.splice(0).map((store) => store.close()));
      },
      async contents() {
        reader ??= openReader(server.adminUrl(name));
        return (await reader).contents();
      },
      async cleanUp() {
        unwatch();
        await leave();
        await Promise.all(stores.map((store) => store.close()));
        await dropDatabase(server, name);
      },
    };
  };
}

const { query } = pg.Client.prototype;

/** Has the statements of a database fail that `faults` says, wherever they are executed. @returns how to stop that */
function watchStatements(
  faults: DriverFaults,
  isOurs: (database: string | undefined) => boolean,
): () => void {
  /** what the transaction of a connection does */
  const transactions = new WeakMap<pg.Client, 'reads' | 'writes' | 'one statement'>();
  const { query: before } = pg.Client.prototype;
  const watched = function (this: pg.Client, ...given: readonly unknown[]): unknown {
    const execute = (): unknown => Reflect.apply(before, this, given);
    const sql = textOf(given[0]);
    if (!isOurs(this.database) || sql === undefined) return execute();
    const [, boundary] = BOUNDARY.exec(sql) ?? [];
    if (boundary === 'BEGIN')
      transactions.set(this, READING.test(sql) ? 'reads' : ALONE.test(sql) ? 'one statement' : 'writes');
    else if (boundary) transactions.delete(this);
    const transaction = transactions.get(this);
    if (boundary || transaction === 'reads') return execute();
    // What was executed alone is committed: a failure after it would be one of the connection.
    return faults.throughServer(async () => execute(), { canFailAfter: transaction === 'writes' });
  };
  Reflect.set(pg.Client.prototype, 'query', watched);
  return () => void Reflect.set(pg.Client.prototype, 'query', query);
}

/** The text of what `query` is given. */
function textOf(given: unknown): string | undefined {
  if (typeof given === 'string') return given;
  const text: unknown = given instanceof Object && 'text' in given ? given.text : undefined;
  return typeof text === 'string' ? text : undefined;
}

/** Reads all that is committed in a database. */
async function openReader(url: string) {
  const client = new pg.Client(url);
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'hookkit'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
  );
  const all = tables
    .map(
      ({ name }) => `SELECT '${name}' AS "table", to_jsonb(of_table) AS row FROM ${rowsOf(name)} AS of_table`,
    )
    .join(' UNION ALL ');
  return {
    async contents(): Promise<Contents> {
      const { rows } = await client.query<{ table: string; row: Row }>(all);
      const numbers = (of: string, column: string) =>
        rows.flatMap(({ table, row }) => (table === of ? [Number(row[column])] : [])).sort((a, b) => a - b);
      const [events, entries] = [numbers('ledger', 'event'), numbers('quarantine', 'id')];
      // What failed has used up numbers.
      const renumbered = ({ event, up_to, id, ...row }: Row): Row => ({
        ...row,
        event: event && events.indexOf(Number(event)),
        up_to: up_to && events.filter((one) => one <= Number(up_to)).length,
        id: id && entries.indexOf(Number(id)),
      });
      const ofTable = (name: string) => rows.filter(({ table }) => table === name);
      return Object.fromEntries(
        tables.map(({ name }) => [
          name,
          ofTable(name)
            .map(({ row }) => JSON.stringify(renumbered(row)))
            .sort(),
        ]),
      );
    },
    close: () => client.end(),
  };
}

type Row = Readonly<Record<string, unknown>>;

/** The rows of a table as two databases share them that had the same history but for what failed. */
function rowsOf(table: string): string {
  switch (table) {
    // A change may stand in several rows.
    case 'tallies':
      return '(SELECT kind, status, sum(events) AS events FROM hookkit.tallies GROUP BY kind, status)';
    // Numbers that were used up, and by which transactions.
    case 'gaps':
      return '(SELECT FROM hookkit.gaps WHERE false)';
    default:
      return `hookkit.${table}`;
  }
}
