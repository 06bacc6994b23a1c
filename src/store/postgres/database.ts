import pg from 'pg';
import { messageOf } from '../../base/errors.ts';
import { LIMITS } from './limits.ts';
import { connected, poolOf, seenOf, streamOf } from './pool.ts';
import { codeOf, NO_ANSWER } from './reasons.ts';
import { literalOf, type Session } from './session.ts';
import { serversOf } from './url.ts';

export interface DatabaseOptions {
  /** `postgres://USER@HOST:PORT/DATABASE`; several hosts with commas between, of which the one that takes writes is used */
  readonly url: string;
  /** how many connections there are at most */
  readonly connections: number;
  /** shown by the server for each connection */
  readonly name: string;
}

/** What a transaction is for. */
export interface Purpose {
  /** false: a crash of the database server may undo it; nothing that was acknowledged depends on it */
  readonly isDurable?: boolean | undefined;
  readonly isReadOnly?: boolean | undefined;
  /** rows are looked up by their keys, or read along an index that has their order, whatever the planner believes of the tables */
  readonly isByKeys?: boolean | undefined;
  /** the same statements by keys again and again: they stay prepared, where the connection is not shared */
  readonly isFrequent?: boolean | undefined;
}

/** How many connections a process makes at most, where nothing is said. */
export const DEFAULT_CONNECTIONS = 10;
/** Where the server did not end a statement by its own time-outs, as it cannot be reached. */
const ANSWER_MS = 30_000;
/** Whatever the database has for a default. */
const ISOLATION = 'ISOLATION LEVEL READ COMMITTED';
/**
 * Rows are looked up by their keys. To read all of a table looks cheapest where the planner believes it to be empty, so it may
 * not: a plan that is kept may have been made when it was, and so may the statistics, from which each statement is planned
 * where connections are shared. After a restore there are none.
 */
const BY_KEYS = `SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
  SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off`;
/** What writes says the same each time. What reads has the planner look at how much it asks for, and reads in the order of an index. */
const WRITING = `${BY_KEYS}; SET LOCAL plan_cache_mode = force_generic_plan`;
const READING = `${BY_KEYS}; SET LOCAL enable_sort = off`;
/** A deadlock or a conflict with another transaction: nothing was done, and the next time it goes through. */
const CONFLICTS = new Set(['40001', '40P01']);
const MOST_TRIES = 10;
/** A statement of this transaction failed before. */
const ABORTED = '25P02';
/** The server takes no writes, as it is a standby or became one: said of a statement that writes, and of a transaction that is to. */
const READ_ONLY = new Set(['25006', '0A000']);
/** What a connection does not know of a prepared statement any more, or what another one's client has prepared there. */
const NOT_PREPARED = new Set(['26000', '42P05']);
/** A prepared statement was made before its tables were changed. The code is one of many things, the routine is not. */
const OUTDATED = 'RevalidateCachedQuery';
/** Where the server says that it no longer waits for its standby, although what it committed may be on its own disk only. */
const WAITS_FOR_STANDBY = 'SyncRepWaitForLSN';

/** Connections to a PostgreSQL server, lent for one transaction or statement each. */
export class Database {
  readonly #pools: readonly pg.Pool[];
  #current = 0;
  #prepares = true;
  #closed: Promise<unknown> | undefined;

  constructor({ url, connections, name }: DatabaseOptions) {
    const servers = serversOf(url);
    this.#pools = servers.map((server) =>
      poolOf(server, { connections, name, answerMs: ANSWER_MS, isOneOfMany: servers.length > 1 }),
    );
  }

  /** Single statements, each committed at once. */
  readonly statements: Session = {
    rows: <R>(sql: string, params: readonly unknown[] = []) =>
      this.#again(() =>
        this.#lent((client) => alone(client, begin(client), () => sessionOf(client).rows<R>(sql, params))),
      ),
    script: (sql) =>
      this.#lent((client) => alone(client, begin(client), () => sessionOf(client).script(sql))),
  };

  /**
   * The same of those that come again and again, by keys. Where the database was made read-only for its sessions, as some providers do
   * when its disk is nearly full, what writes fails.
   */
  readonly frequent: Session = {
    rows: <R>(sql: string, params: readonly unknown[] = []) =>
      this.#again(() =>
        this.#lent((client) => {
          const session = this.#isPrepared(client) ? preparedSessionOf(client) : sessionOf(client);
          return alone(client, `${begin(client)}; ${onDisk(client)}; ${WRITING}`, () =>
            session.rows<R>(sql, params),
          );
        }),
      ),
    script: this.statements.script,
  };

  /**
   * Does work in one transaction, again if it met a conflict. Statements that it does not wait for before it makes the next one are
   * executed in their order. One that may write fails at a standby, also if it only reads: what it read would be old.
   */
  transaction<T>(
    work: (session: Session) => Promise<T>,
    { isDurable = true, isReadOnly = false, isFrequent = false, isByKeys = isFrequent }: Purpose = {},
  ): Promise<T> {
    return this.#again(() =>
      this.#lent(async (client) => {
        const mode = `${ISOLATION} ${isReadOnly ? 'READ ONLY' : 'READ WRITE'}`;
        const beginning = `${begin(client, mode)}; ${isDurable ? onDisk(client) : 'SET LOCAL synchronous_commit = off'}`;
        const isPrepared = isFrequent && this.#isPrepared(client);
        const { session, end, causeOf } = untilEnd(
          isPrepared ? preparedSessionOf(client) : sessionOf(client),
        );
        try {
          const [, done] = await Promise.all([
            query(client, isByKeys ? `${beginning}; ${isReadOnly ? READING : WRITING}` : beginning),
            work(session),
          ]);
          end();
          await query(client, 'COMMIT');
          return done;
        } catch (error) {
          end();
          // Of a connection that is lost the server does it by itself.
          if (messageOf(error) !== NO_ANSWER) await client.query('ROLLBACK').catch(() => undefined);
          throw causeOf(error);
        }
      }),
    );
  }

  async close(): Promise<void> {
    this.#closed ??= Promise.all(this.#pools.map((pool) => pool.end()));
    await this.#closed;
  }

  async #again<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await work();
      } catch (error) {
        const code = codeOf(error) ?? '';
        // Something between us and the server lends another connection for each transaction, although it did not look so.
        if (NOT_PREPARED.has(code)) this.#prepares = false;
        const goesThrough = CONFLICTS.has(code) || NOT_PREPARED.has(code) || isOutdated(error);
        if (!goesThrough || tries === MOST_TRIES) throw error;
      }
    }
  }

  #isPrepared(client: pg.PoolClient): boolean {
    return this.#prepares && seenOf(client)?.isDirect === true;
  }

  /** Lends a connection. One that failed in an unknown way is not used again. */
  async #lent<T>(use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const { client, at } = await this.#connect();
    let isLost = false;
    let isConfirmed = true;
    const onError = () => {
      isLost = true;
    };
    const onNotice = ({ routine }: { readonly routine?: string | undefined }) => {
      if (routine === WAITS_FOR_STANDBY) isConfirmed = false;
    };
    client.on('error', onError);
    client.on('notice', onNotice);
    try {
      const done = await use(client);
      if (!isConfirmed)
        throw new Error('the wait for the standby was cancelled, which may not have the commit');
      return done;
    } catch (error) {
      const code = codeOf(error);
      const isReadOnly = READ_ONLY.has(code ?? '') && !isOutdated(error);
      if (isReadOnly || messageOf(error) === NO_ANSWER) this.#leave(at);
      isLost ||=
        code === undefined ||
        isReadOnly ||
        isOutdated(error) ||
        !/^[0-9A-Z]{5}$/.test(code) ||
        /^(57P|08)/.test(code);
      throw error;
    } finally {
      client.off('error', onError);
      client.off('notice', onNotice);
      client.release(isLost);
    }
  }

  async #connect(): Promise<{ readonly client: pg.PoolClient; readonly at: number }> {
    let failure: unknown;
    for (const _ of this.#pools) {
      if (this.#closed) break;
      const at = this.#current;
      const pool = this.#pools[at];
      if (!pool) break;
      try {
        return { client: await connected(pool), at };
      } catch (error) {
        failure = error;
        this.#leave(at);
      }
    }
    throw failure ?? new Error('the store is closed');
  }

  /** The next request looks at the next server first, unless another request has left this one already. */
  #leave(at: number): void {
    if (this.#current === at) this.#current = (at + 1) % this.#pools.length;
  }
}

function isOutdated(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.routine === OUTDATED;
}

/** What begins a transaction. A role may have a limit for those in general. Ours have one for each statement. */
function begin(client: pg.PoolClient, mode = `TRANSACTION ${ISOLATION}`): string {
  const limits = `BEGIN ${mode}; ${LIMITS}`;
  return seenOf(client)?.hasTransactionTimeout ? `${limits}; SET LOCAL transaction_timeout = 0` : limits;
}

/**
 * For a commit that must outlast a crash of the server: it waits as it did when the connection was made, and for the disk at least. A reload of the
 * server's configuration may set `off` for the connections that are there.
 */
function onDisk(client: pg.PoolClient): string {
  const { commit = 'on' } = seenOf(client) ?? {};
  return `SET LOCAL synchronous_commit = ${commit === 'off' ? 'on' : commit}`;
}

function valuesOf(params: readonly unknown[]): unknown[] {
  return params.map((value) => (Array.isArray(value) ? literalOf(value) : value));
}

/** The connections of which statements wait for the end of this turn. */
const gathering = new WeakSet<pg.PoolClient>();

/**
 * Sends the statements of one turn of the event loop together. Each by itself is a call of the system, and wakes the server up: that took as
 * long as to make them.
 */
function query(client: pg.PoolClient, statement: string | pg.QueryConfig): Promise<pg.QueryResult> {
  const stream = streamOf(client);
  if (!gathering.has(client)) {
    gathering.add(client);
    stream.cork();
    process.nextTick(() => {
      gathering.delete(client);
      stream.uncork();
    });
  }
  return client.query(statement);
}

/** Executes one statement in a transaction. All three are sent together: the server is asked once. */
async function alone<T>(client: pg.PoolClient, beginning: string, statement: () => Promise<T>): Promise<T> {
  // Of what fails, COMMIT commits nothing.
  const [, done] = await Promise.all([query(client, beginning), statement(), query(client, 'COMMIT')]);
  return done;
}

function sessionOf(client: pg.PoolClient): Session {
  return {
    async rows<R>(sql: string, params: readonly unknown[] = []) {
      return (await query(client, { text: sql, values: valuesOf(params) })).rows as R[];
    },
    script: async (sql) => void (await query(client, sql)),
  };
}

/** A session up to its end: what one part of a transaction goes on with after another part failed is not executed. */
function untilEnd({ rows, script }: Session) {
  let isOver = false;
  let failed: unknown;
  const inTime = async <T>(execute: () => Promise<T>): Promise<T> => {
    if (isOver) throw new Error('the transaction has ended');
    try {
      return await execute();
    } catch (error) {
      failed ??= error;
      throw error;
    }
  };
  const session: Session = {
    rows: (sql, params) => inTime(() => rows(sql, params)),
    script: (sql) => inTime(() => script(sql)),
  };
  const end = () => {
    isOver = true;
  };
  /** The error of the statement that failed, where that of one behind it came to be known first. */
  const causeOf = (error: unknown) => (codeOf(error) === ABORTED ? (failed ?? error) : error);
  return { session, end, causeOf };
}

/** The names of statements that are prepared: as many as our own code has, and of texts that are made up no more. */
const names = new Map<string, string>();
const MOST_NAMES = 200;

/** The same with statements that stay prepared on this connection. */
function preparedSessionOf(client: pg.PoolClient): Session {
  return {
    ...sessionOf(client),
    async rows<R>(sql: string, params: readonly unknown[] = []) {
      if (!names.has(sql) && names.size < MOST_NAMES) names.set(sql, `hookkit_${names.size}`);
      const name = names.get(sql);
      return (await query(client, { text: sql, values: valuesOf(params), ...(name && { name }) }))
        .rows as R[];
    },
  };
}
