import { randomBytes } from 'node:crypto';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { Awaitable, Tables } from '../driver.ts';
import { columnsOf, type Form, type Row } from '../transfer/forms.ts';
import { type Change, type Numbers, PAGE_BYTES, PAGE_ROWS, type Side } from '../transfer/side.ts';
import { Database, type Purpose } from './database.ts';
import { ALL_BUT_META, migrate } from './migrations.ts';
import { FormerPartitions } from './partitions.ts';
import { reasonOf } from './reasons.ts';
import { fromText, type Session, toText } from './session.ts';
import { tablesOf } from './tables/index.ts';
import { MOVE } from './tables/refused-writes.ts';
import { kindKey } from './tables/rows.ts';
import { nameOf } from './url.ts';

/** One reads while the other is alone with the database, and nothing needs more. */
const CONNECTIONS = 2;

/** Connections of other programs of ours. */
const OTHERS = `
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'hookkit%'
    AND application_name <> current_setting('application_name')`;
/** The same without those that start meanwhile, and wait to read whether they may use the database. */
const OTHERS_IN_USE = `${OTHERS} AND NOT EXISTS (
  SELECT FROM pg_locks WHERE pg_locks.pid = pg_stat_activity.pid AND NOT granted
    AND relation = 'hookkit.meta'::regclass)`;
/** How often it is asked whether they have ended: a connection ends after its program. */
const PAUSE_MS = 100;

/** For a statement that reads a part of each partition. An answer that takes longer is not waited for. */
const LONG = "SET LOCAL statement_timeout = '30s'";

/** How PostgreSQL keeps a table, where that is not as its form says. */
interface Kept {
  readonly rows?: string;
  readonly add?: (session: Session, form: Form, rows: readonly Row[]) => Promise<void>;
  readonly remove?: (session: Session, form: Form, rows: readonly Row[]) => Promise<void>;
}

/** The bodies and the list by kind go with the ledger. */
const bodies = { table: 'bodies', key: ['event', 'received_at'], columns: ['event', 'received_at', 'body'] };
const kinds = {
  table: 'kinds',
  key: ['kind', 'event'],
  columns: ['kind', 'event'],
  stored: (name: string, row: Row) => (name === 'kind' ? kindKey(toText(String(row.kind))) : row[name]),
};

const KEPT: Readonly<Record<string, Kept>> = {
  ledger: {
    // A subselect, so that each body is looked up by its key, whatever the planner knows of a table that was just filled.
    rows: `(SELECT *, (SELECT body FROM hookkit.bodies
      WHERE bodies.event = ledger.event AND bodies.received_at = ledger.received_at) AS body FROM hookkit.ledger)`,
    async add(session, form, rows) {
      const columns = columnsOf(form).filter((name) => name !== 'body');
      await insert(session, form, { table: 'ledger', columns, rows });
      await insert(session, form, { ...bodies, rows: rows.filter(({ body }) => body !== null) });
      await insert(session, form, { ...kinds, rows });
    },
    async remove(session, form, rows) {
      await remove(session, form, { table: 'ledger', key: form.key, rows });
      await remove(session, form, { ...bodies, rows });
      await remove(session, form, { ...kinds, rows });
    },
  },
  // Sums and changes of them stand side by side.
  tallies: {
    rows: `(SELECT kind, status, sum(events)::bigint AS events FROM hookkit.tallies
      GROUP BY kind, status HAVING sum(events) <> 0)`,
  },
};

/** What decides of the partition of a row, or of its body. */
const PARTITIONED_BY: Readonly<Record<string, string>> = { ledger: 'received_at', attempts: 'started_at' };

/** @throws KitError STORE_UNUSABLE with what to do about it */
export async function openPostgresSide(
  url: string,
  options: { readonly mustExist?: boolean | undefined } = {},
): Promise<Side> {
  const name = `${MOVE}${randomBytes(4).toString('hex')}`; // another move is another program
  const database = new Database({ url, connections: CONNECTIONS, name });
  try {
    await migrate(database, systemClock, options);
    return new PostgresSide(database, nameOf(url));
  } catch (error) {
    await database.close();
    if (error instanceof KitError) throw error;
    throw new KitError('STORE_UNUSABLE', `cannot open the PostgreSQL database: ${reasonOf(error)}`);
  }
}

/** A PostgreSQL database on one side of a transfer. */
class PostgresSide implements Side {
  readonly name: string;
  readonly keyFile = undefined;
  readonly #database: Database;
  /** the transaction in which it is alone */
  #alone: Session | undefined;
  readonly #partitions: FormerPartitions;

  constructor(database: Database, name: string) {
    this.#database = database;
    this.#partitions = new FormerPartitions(database, systemClock.now());
    this.name = name;
  }

  async rows(form: Form, after: Row | undefined): Promise<readonly Row[]> {
    const { table, key, texts } = form;
    const { rows = `hookkit.${table}` } = KEPT[table] ?? {};
    const keys = key.join(', ');
    const behind = after ? `WHERE (${keys}) > (${key.map((_, at) => `$${at + 1}`).join(', ')})` : '';
    const length = texts.map((name) => `coalesce(octet_length(${name}), 0)`).join(' + ') || '0';
    const page = `SELECT ${columnsOf(form).join(', ')} FROM (
         SELECT *, sum(${length}) OVER (ORDER BY ${keys} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
         FROM (SELECT * FROM ${rows} AS kept ${behind} ORDER BY ${keys} LIMIT ${PAGE_ROWS}) AS page) AS measured
       WHERE coalesce(before, 0) < ${PAGE_BYTES} ORDER BY ${keys}`;
    const found = await this.#transaction(
      (session) => session.rows<Row>(page, after && key.map((name) => storedBy(form)(name, after))),
      { isReadOnly: true },
    );
    return found.map((row) => fromStored(form, row));
  }

  async count({ table }: Form): Promise<number> {
    const [row] = await this.#session.rows<{ rows: number }>(`SELECT count(*) AS rows FROM hookkit.${table}`);
    return row?.rows ?? 0;
  }

  async change(form: Form, { removed, added }: Change): Promise<void> {
    await this.#makePartitions(form, added);
    const { add = insertAll, remove: drop = removeAll } = KEPT[form.table] ?? {};
    await this.#transaction(
      async (session) => {
        if (removed.length > 0) await drop(session, form, removed);
        if (added.length > 0) await add(session, form, added);
      },
      { isDurable: false },
    );
  }

  transact<T>(work: (tables: Tables) => Awaitable<T>): Promise<T> {
    return this.#transaction(async (session) => work(tablesOf(session)));
  }

  async alone<T>(waitMs: number, work: () => Promise<T>): Promise<{ readonly done: T } | undefined> {
    if (await hasOthersAfter(waitMs, this.#database.statements)) return undefined;
    try {
      return await this.#transaction(async (session) => {
        await session.rows('SET LOCAL idle_in_transaction_session_timeout = 0');
        // Programs that start read from it before anything else, and so wait.
        await session.rows('LOCK TABLE hookkit.meta IN ACCESS EXCLUSIVE MODE');
        await session.rows(`LOCK TABLE ${ALL_BUT_META.join(', ')} IN SHARE MODE`);
        if (await hasSome(OTHERS, session)) throw new InUse();
        this.#alone = session;
        const done = await work();
        if (await hasSome(OTHERS_IN_USE, session)) throw new InUse();
        return { done };
      });
    } catch (error) {
      if (error instanceof InUse) return undefined;
      throw error;
    } finally {
      this.#alone = undefined;
    }
  }

  async numbers(): Promise<Numbers> {
    const [row] = await this.#session.rows<{ event: number; entry: number }>(
      `SELECT ${lastOf('ledger_event_seq')} AS event, ${lastOf('quarantine_id_seq')} AS entry`,
    );
    return row ?? { event: 0, entry: 0 };
  }

  async complete({ event, entry }: Numbers): Promise<void> {
    const given = await this.numbers();
    await this.#transaction(async (session) => {
      await session.rows('DELETE FROM hookkit.gaps');
      await session.rows('DELETE FROM hookkit.taken');
      await session.rows('INSERT INTO hookkit.taken SELECT coalesce(max(event), 0) FROM hookkit.ledger');
      await giveOutAfter(session, 'ledger_event_seq', Math.max(event, given.event));
      await giveOutAfter(session, 'quarantine_id_seq', Math.max(entry, given.entry));
    });
    // Before it has seen the tables, the planner would read whole ones where an index would do.
    for (const table of ALL_BUT_META) {
      await this.#database.transaction(async (session) => {
        await session.rows(LONG);
        await session.rows(`ANALYZE ${table}`);
      });
    }
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  get #session(): Session {
    return this.#alone ?? this.#database.statements;
  }

  #transaction<T>(work: (session: Session) => Promise<T>, purpose: Purpose = {}): Promise<T> {
    return this.#alone ? work(this.#alone) : this.#database.transaction(work, { isByKeys: true, ...purpose });
  }

  async #makePartitions(form: Form, rows: readonly Row[]): Promise<void> {
    const column = PARTITIONED_BY[form.table];
    if (column) await this.#partitions.makeFor(rows.map((row) => Number(row[column])));
  }
}

/** Thrown within a transaction, to undo it. */
class InUse extends Error {}

async function hasOthersAfter(waitMs: number, session: Session): Promise<boolean> {
  const end = systemClock.monotonic() + waitMs;
  while (await hasSome(OTHERS, session)) {
    if (systemClock.monotonic() >= end) return true;
    await pause(systemClock, PAUSE_MS);
  }
  return false;
}

async function hasSome(connections: string, session: Session): Promise<boolean> {
  return (await session.rows(`${connections} LIMIT 1`)).length > 0;
}

/** The highest number that was given out; 0 if none was. */
function lastOf(sequence: string): string {
  return `(SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM hookkit.${sequence})`;
}

/** @param last 0 if none was given out */
async function giveOutAfter(session: Session, sequence: string, last: number): Promise<void> {
  await session.rows(`SELECT setval('hookkit.${sequence}', $1, $2)`, [Math.max(1, last), last > 0]);
}

/** Rows of a table, and which of their columns are meant. */
interface Rows {
  readonly table: string;
  readonly rows: readonly Row[];
  /** the value of a column as it is stored, where that is not the row's */
  readonly stored?: ((name: string, row: Row) => unknown) | undefined;
}

async function insert(
  session: Session,
  form: Form,
  { table, columns, rows, stored }: Rows & { readonly columns: readonly string[] },
): Promise<void> {
  if (rows.length === 0) return;
  await session.rows(
    `INSERT INTO hookkit.${table} (${columns.join(', ')}) SELECT * FROM unnest(${arrays(form, columns)})`,
    values(form, columns, { rows, stored }),
  );
}

function insertAll(session: Session, form: Form, rows: readonly Row[]): Promise<void> {
  return insert(session, form, { table: form.table, columns: columnsOf(form), rows });
}

async function remove(
  session: Session,
  form: Form,
  { table, key, rows, stored }: Rows & { readonly key: readonly string[] },
): Promise<void> {
  await session.rows(
    `DELETE FROM hookkit.${table} WHERE (${key.join(', ')}) IN (SELECT * FROM unnest(${arrays(form, key)}))`,
    values(form, key, { rows, stored }),
  );
}

function removeAll(session: Session, form: Form, rows: readonly Row[]): Promise<void> {
  return remove(session, form, { table: form.table, key: form.key, rows });
}

/** The values of each column. */
function values(
  form: Form,
  names: readonly string[],
  { rows, stored = storedBy(form) }: Omit<Rows, 'table'>,
) {
  return names.map((name) => rows.map((row) => stored(name, row)));
}

/** The parameters of `unnest` for columns: an array each. */
function arrays(form: Form, columns: readonly string[]): string {
  return columns.map((name, at) => `$${at + 1}::${typeOf(form, name)}[]`).join(', ');
}

function typeOf({ texts, bytes, flags }: Form, name: string): string {
  if (texts.includes(name)) return 'text';
  if (bytes.includes(name)) return 'bytea';
  return flags.includes(name) ? 'boolean' : 'bigint';
}

function storedBy({ texts }: Form): (name: string, row: Row) => unknown {
  return (name, row) => {
    const value = row[name];
    return typeof value === 'string' && texts.includes(name) ? toText(value) : value;
  };
}

function fromStored({ texts }: Form, row: Row): Row {
  const read: Record<string, Row[string]> = { ...row };
  for (const name of texts) {
    const value = row[name];
    if (typeof value === 'string') read[name] = fromText(value);
  }
  return read;
}
