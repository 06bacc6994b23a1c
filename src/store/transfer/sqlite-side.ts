import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Database, Statement } from 'better-sqlite3';
import { messageOf } from '../../base/errors.ts';
import type { Awaitable, Tables } from '../driver.ts';
import { isBusy, lockWithin } from '../former/lock-alone.ts';
import { keyPathOf } from '../key-file.ts';
import { openWriter, setUp } from '../sqlite/open-sqlite.ts';
import { SCHEMA_VERSION } from '../sqlite/schema.ts';
import { makeDirectory } from '../sqlite/sqlite-store.ts';
import { tablesOf } from '../sqlite/tables/index.ts';
import { transactionOf } from '../sqlite/write-batch.ts';
import { unopened } from '../unopened.ts';
import { columnsOf, type Form, type Row } from './forms.ts';
import { type Change, type Numbers, PAGE_BYTES, PAGE_ROWS, type Side } from './side.ts';

/** How SQLite keeps a table, where that is not as its form says. */
interface Kept {
  readonly rows?: string;
  /** statements for each row that comes in or goes out */
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
}

const KEPT: Readonly<Record<string, Kept>> = {
  ledger: {
    rows: '(SELECT seq AS event, * FROM ledger)',
    add: [
      `INSERT INTO ledger (seq, event_time, digest, kind, webhook_id, site_id, resource, received_at, body)
       VALUES (:event, :event_time, :digest, :kind, :webhook_id, :site_id, :resource, :received_at, :body)`,
      'INSERT INTO kinds (kind, event) VALUES (:kind, :event)',
    ],
    remove: [
      'DELETE FROM ledger WHERE seq = :event',
      'DELETE FROM kinds WHERE kind = :kind AND event = :event',
    ],
  },
  results: {
    rows: '(SELECT results.*, resource, event_time FROM results LEFT JOIN ledger ON seq = event)',
    add: [
      `INSERT INTO results (event, status, attempts, interrupted, replays, late, handled_at, last_error, has_body)
       VALUES (:event, :status, :attempts, :interrupted, :replays, :late, :handled_at, :last_error, :has_body)`,
      `INSERT INTO finished (resource, event_time, event, is_handled)
       VALUES (:resource, :event_time, :event, :status = 'handled')`,
    ],
    remove: [
      'DELETE FROM results WHERE event = :event',
      'DELETE FROM finished WHERE resource = :resource AND event_time = :event_time AND event = :event',
    ],
  },
  // A tally of nothing may be there, or not.
  tallies: {
    rows: '(SELECT * FROM tallies WHERE events <> 0)',
    add: ['INSERT OR REPLACE INTO tallies (kind, status, events) VALUES (:kind, :status, :events)'],
  },
  quarantine: {
    rows: `(SELECT quarantine.*, ifnull(repeats, 0) AS repeats, last_at
      FROM quarantine LEFT JOIN quarantine_repeats USING (id))`,
    add: [
      `INSERT INTO quarantine (id, token_digest, webhook_id, network, bytes, source, received_at, event_time, digest, kind,
         site_id, resource, token, body)
       VALUES (:id, :token_digest, :webhook_id, :network, :bytes, :source, :received_at, :event_time, :digest, :kind,
         :site_id, :resource, :token, :body)`,
      'INSERT INTO quarantine_repeats (id, repeats, last_at) SELECT :id, :repeats, :last_at WHERE :repeats > 0',
    ],
  },
};

interface Statements {
  readonly first: Statement<unknown[], Record<string, unknown>>;
  readonly next: Statement<unknown[], Record<string, unknown>>;
  readonly add: readonly Statement[];
  readonly remove: readonly Statement[];
}

/** @throws KitError STORE_UNUSABLE with what to do about it */
export function openSqliteSide(path: string): SqliteSide {
  makeDirectory(dirname(path));
  try {
    openWriter(path).close(); // makes it, or brings it up to date
    return new SqliteSide(path);
  } catch (error) {
    throw unopened(path, messageOf(error));
  }
}

/** A SQLite file on one side of a transfer. */
class SqliteSide implements Side {
  readonly name: string;
  readonly keyFile: string;
  readonly #path: string;
  #db: Database;
  readonly #statements = new Map<Form, Statements>();

  constructor(path: string) {
    this.name = realpathSync(path);
    this.keyFile = keyPathOf(path);
    this.#path = path;
    this.#db = openWriter(path);
  }

  async rows(form: Form, after: Row | undefined): Promise<readonly Row[]> {
    await setImmediate(); // reading keeps the thread busy: what is asked of a server goes out before
    const { first, next } = this.#of(form);
    const rows: Row[] = [];
    let bytes = 0;
    const read = after ? next.iterate(...form.key.map((name) => after[name])) : first.iterate();
    for (const row of read) {
      for (const name of form.texts) bytes += (row[name] as string | null)?.length ?? 0;
      rows.push(toRow(form, row));
      if (bytes >= PAGE_BYTES) break;
    }
    return rows;
  }

  async count({ table }: Form): Promise<number> {
    return this.#db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
  }

  async change(form: Form, { removed, added }: Change): Promise<void> {
    const { add, remove } = this.#of(form);
    const write = this.#db.transaction(() => {
      for (const row of removed) for (const statement of remove) statement.run(fromRow(form, row));
      for (const row of added) for (const statement of add) statement.run(fromRow(form, row));
    });
    this.#db.pragma('synchronous = NORMAL');
    try {
      write.immediate();
    } finally {
      this.#db.pragma('synchronous = FULL');
    }
  }

  async transact<T>(work: (tables: Tables) => Awaitable<T>): Promise<T> {
    const tables = tablesOf(this.#db);
    if (this.#db.inTransaction) return work(tables);
    return transactionOf(this.#db)(async () => work(tables));
  }

  async alone<T>(waitMs: number, work: () => Promise<T>): Promise<{ readonly done: T } | undefined> {
    this.#db.close();
    try {
      const locked = this.#lock(waitMs);
      if (!locked) return undefined;
      this.#use(locked);
      setUp(locked);
      return { done: await transactionOf(locked)(work) };
    } finally {
      this.#db.close();
      this.#use(openWriter(this.#path));
    }
  }

  #lock(waitMs: number): Database | undefined {
    try {
      return lockWithin(waitMs, this.name, (version) => version === SCHEMA_VERSION);
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw error;
    }
  }

  async numbers(): Promise<Numbers> {
    const last = (sql: string) => this.#db.prepare<[], number | null>(sql).pluck().get() ?? 0;
    return {
      event: last('SELECT max(seq) FROM ledger'),
      entry: last("SELECT seq FROM sqlite_sequence WHERE name = 'quarantine'"),
    };
  }

  async complete({ entry }: Numbers): Promise<void> {
    const given = (await this.numbers()).entry;
    await this.transact((tables) => {
      this.#db.exec("UPDATE cursors SET seq = (SELECT ifnull(max(seq), 0) FROM ledger) WHERE name = 'taken'");
      this.#db.exec("DELETE FROM sqlite_sequence WHERE name = 'quarantine'");
      this.#db.prepare("INSERT INTO sqlite_sequence VALUES ('quarantine', ?)").run(Math.max(entry, given));
      return tables.ping(); // a commit that changes nothing would not wait for the disk, where those before it must be
    });
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #use(db: Database): void {
    this.#db = db;
    this.#statements.clear();
  }

  #of(form: Form): Statements {
    const known = this.#statements.get(form);
    if (known) return known;
    const { table, key } = form;
    const columns = columnsOf(form);
    const { rows = table, add, remove }: Kept = KEPT[table] ?? {};
    const page = (condition: string) =>
      this.#db.prepare<unknown[], Record<string, unknown>>(
        `SELECT ${columns.join(', ')} FROM ${rows} ${condition} ORDER BY ${key.join(', ')} LIMIT ${PAGE_ROWS}`,
      );
    const insert = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map((name) => `:${name}`).join(', ')})`;
    const drop = `DELETE FROM ${table} WHERE ${key.map((name) => `${name} = :${name}`).join(' AND ')}`;
    const prepared = (given: readonly string[]) => given.map((sql) => this.#db.prepare(sql));
    const statements = {
      first: page(''),
      next: page(`WHERE (${key.join(', ')}) > (${key.map(() => '?').join(', ')})`),
      add: prepared(add ?? [insert]),
      remove: prepared(remove ?? [drop]),
    };
    this.#statements.set(form, statements);
    return statements;
  }
}

/** The row of SQLite: it knows no flags, and keeps a time with a fraction as it was given. */
function toRow({ numbers, flags }: Form, row: Record<string, unknown>): Row {
  for (const name of numbers) if (row[name] !== null) row[name] = Math.round(Number(row[name]));
  for (const name of flags) if (row[name] !== null) row[name] = row[name] === 1;
  return row as Row;
}

function fromRow({ flags }: Form, row: Row): object {
  const kept: Record<string, unknown> = { ...row };
  for (const name of flags) if (row[name] !== null) kept[name] = row[name] ? 1 : 0;
  return kept;
}
