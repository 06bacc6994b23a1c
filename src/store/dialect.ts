/** A value of a column or parameter; undefined is NULL. A list is for `among`. */
export type Value = string | number | readonly string[] | null | undefined;
export type Params = object;

/**
 * A transaction. A statement over rows runs for each row (SQLite), or once for all of them (PostgreSQL); without rows, not at all.
 * Columns are called in snake_case in SQL, and in camelCase as members of rows and parameters; NULL comes as undefined.
 */
export interface Db {
  all<R>(sql: string, params?: Params): R[] | Promise<R[]>;
  each<R>(sql: string, rows: readonly Params[], params?: Params): R[] | Promise<R[]>;
}

/** The row of a query that always has one. */
export async function one<R>(db: Db, sql: string, params?: Params): Promise<R> {
  return (await db.all<R>(sql, params))[0] as R;
}

/** The names of columns that are written with their types: `seq bigint, name text`. */
type NamesOf<C extends string> = C extends `${infer First}, ${infer Rest}`
  ? NamesOf<First> | NamesOf<Rest>
  : C extends `${infer Name} ${string}`
    ? Name
    : C;

/** The rows of a statement: `r.name` is a member of the row. PostgreSQL reads all rows from one JSON parameter; SQLite has a parameter a member. */
export type Rows<Names extends string> = { readonly [Name in Names]: string } & {
  /**
   * whether a column has the value of the member of its name, or of another one. PostgreSQL looks the values of all rows up in the index first: it believes that
   * scanning lanes, nearly always empty, is cheaper
   */
  is(column: `${string}.${Names}`): string;
  is(column: string, member: Names): string;
  /** stands after the SET of an UPDATE, or in a SELECT from nothing else */
  readonly from: string;
  /** stands after the table of a DELETE */
  readonly using: string;
  /** stands before the tables of a SELECT */
  readonly beside: string;
};

const namesIn = (columns: string) => columns.split(', ').map((column) => column.split(' ')[0] ?? '');

/** Inserts rows. @param columns with their types, as `seq bigint, name text` */
export function insert(d: Dialect, table: string, columns: string, rest = ''): string {
  const names = namesIn(columns);
  const r = d.rows(columns);
  const values = names.map((name) => r[name]);
  return `INSERT INTO ${table} (${names}) SELECT ${values} ${r.from} WHERE true ${rest}`;
}

/** Deletes what a resource has under names, of a subscriber: its state, or reminders. */
export function dropping(d: Dialect, table: 'state' | 'reminders'): string {
  const r = d.rows('resource text, name text');
  const isOf = `${r.is(`${table}.resource`)} AND ${table}.name = ${r.name} AND ${table}.subscriber = $subscriber`;
  return `DELETE FROM ${table} ${r.using} WHERE ${isOf}`;
}

/** The differences between the engines. */
export type Dialect = typeof sqlite;

export const sqlite = {
  /** The rows of a statement. @param columns their members with types, as PostgreSQL reads them from JSON: `seq bigint, name text` */
  rows: <C extends string>(columns: C) => {
    const names = Object.fromEntries(namesIn(columns).map((name) => [name, `$${name}`]));
    const is = (column: string, member = column.split('.')[1]) => `${column} = $${member}`;
    return { ...names, is, from: '', using: '', beside: '' } as Rows<NamesOf<C>>;
  },
  /** locks the rows of a table by their key, and reads them. SQLite only reads. @param _order of PostgreSQL: in which it locks them */
  lock: (table: string, key: string, what: string, _order?: string, where = 'true') =>
    `SELECT ${what} FROM ${table} WHERE ${key} = $${key} AND ${where}`,
  /** whether a column has one of the texts of a parameter that is a list */
  among: (column: string, parameter: string) => `${column} IN (SELECT value FROM json_each($${parameter}))`,
  contains: (column: string, parameter: string) => `instr(${column}, $${parameter}) > 0`,
  /** whether a column is one of the values of a query. Each is looked up in the index: PostgreSQL would rather read the whole table */
  oneOf: (column: string, query: string) => `${column} IN (${query})`,
  /** milliseconds since the epoch: of PostgreSQL by its own clock, of SQLite the parameter `now` */
  now: '$now',
  /** whether rows have locks: SQLite has one writer */
  hasLocks: false,
  skipLocked: '',
  /** has a statement over rows return those that changed something, by a column of theirs. For RETURNING, SQLite would fill a table each time */
  changed: (_column: string) => '',
  serial: 'INTEGER PRIMARY KEY',
  /** the last `seq` that an event was given */
  lastSeq: 'SELECT coalesce(max(seq), 0) AS seq FROM events',
  /** the order of texts: JavaScript's */
  bytes: '',
};

export const postgres: Dialect = {
  rows: <C extends string>(columns: C) => {
    const rows = `json_to_recordset($rows) r(${columns})`;
    const names = Object.fromEntries(namesIn(columns).map((name) => [name, `r.${name}`]));
    const is = (column: string, member = column.split('.')[1]) =>
      `${column} = ANY (ARRAY(SELECT r.${member} FROM ${rows})) AND ${column} = r.${member}`;
    const places = { from: `FROM ${rows}`, using: `USING ${rows}`, beside: `${rows}, ` };
    return { ...names, is, ...places } as Rows<NamesOf<C>>;
  },
  lock: (table, key, what, order = key, where = 'true') =>
    `SELECT ${what} FROM ${table} WHERE ${key} = ANY (ARRAY(SELECT r.${key}
     FROM json_to_recordset($rows) r(${key} ${key === 'seq' ? 'bigint' : 'text'}))) AND ${where} ORDER BY ${order} FOR UPDATE`,
  among: (column, parameter) => `${column} = ANY (ARRAY(SELECT json_array_elements_text($${parameter})))`,
  contains: (column, parameter) => `strpos(${column}, $${parameter}) > 0`,
  oneOf: (column, query) => `${column} = ANY (ARRAY(${query}))`,
  now: '(extract(epoch FROM now()) * 1000)::bigint',
  hasLocks: true,
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  changed: (column) => `RETURNING ${column}`,
  serial: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  lastSeq: 'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS seq FROM events_seq_seq',
  bytes: 'COLLATE "C"',
};

/** The name of a column or parameter as a member of a row or of parameters, and the other way round. */
export const memberOf = (name: string) =>
  name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
export const columnOf = (member: string) =>
  member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A row of values by the names of their members. */
export function rowOf<R>(members: readonly string[], values: readonly unknown[]): R {
  const row: Record<string, unknown> = {};
  for (let index = 0; index < members.length; index++) row[members[index] ?? ''] = values[index] ?? undefined;
  return row as R;
}
