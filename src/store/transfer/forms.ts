/** A value of a row, the same from every engine: numbers are whole, texts are as they came in. */
export type Value = number | string | boolean | Buffer | null;

export type Row = Readonly<Record<string, Value>>;

/** What a table has, whatever the engine. */
export interface Form {
  readonly table: string;
  /** rows are read and compared in its order: numbers by size, texts by their bytes */
  readonly key: readonly string[];
  readonly numbers: readonly string[];
  readonly texts: readonly string[];
  readonly bytes: readonly string[];
  readonly flags: readonly string[];
}

type Names = Partial<Record<'numbers' | 'texts' | 'bytes' | 'flags', string>>;

function form(table: string, key: string, { numbers, texts, bytes, flags }: Names): Form {
  const words = (text = '') => text.split(' ').filter((word) => word !== '');
  return {
    table,
    key: words(key),
    numbers: words(numbers),
    texts: words(texts),
    bytes: words(bytes),
    flags: words(flags),
  };
}

/**
 * The tables of a database, in the order in which they are copied, but for the secrets, which each side seals under its own key.
 * What an engine keeps beside them follows from these rows: the bodies of PostgreSQL, lists by kind, finished events by resource.
 * Rows of `meta` belong to one database.
 */
export const FORMS: readonly Form[] = [
  form('ledger', 'event', {
    numbers: 'event event_time received_at',
    texts: 'kind webhook_id site_id resource body',
    bytes: 'digest',
  }),
  form('repeats', 'event', { numbers: 'event repeats last_at' }),
  form('work', 'event', {
    numbers: 'event event_time attempts interrupted replays next_attempt_at',
    texts: 'kind resource last_error',
    flags: 'late',
  }),
  form('lanes', 'resource', { numbers: 'head event lease_until started_at', texts: 'resource owner' }),
  form('results', 'event', {
    numbers: 'event event_time attempts interrupted replays handled_at',
    texts: 'resource status last_error',
    flags: 'late has_body',
  }),
  form('attempts', 'event replay attempt', {
    numbers: 'event replay attempt started_at duration_ms',
    texts: 'outcome error instance',
  }),
  form('steps', 'event name', { numbers: 'event', texts: 'name result' }),
  form('state', 'resource name', { texts: 'resource name value' }),
  form('tallies', 'kind status', { numbers: 'events', texts: 'kind status' }),
  form('channels', 'resource', { numbers: 'since event', texts: 'resource site_id state' }),
  form('own_secrets', 'webhook_id', { texts: 'webhook_id' }),
  form('quarantine', 'id', {
    numbers: 'id bytes received_at event_time repeats last_at',
    texts: 'webhook_id network source kind site_id resource token body',
    bytes: 'token_digest digest',
  }),
  form('quarantine_sums', 'what webhook_id network', {
    numbers: 'entries bytes',
    texts: 'what webhook_id network',
  }),
];

export function columnsOf({ numbers, texts, bytes, flags }: Form): readonly string[] {
  return [...numbers, ...texts, ...bytes, ...flags];
}

/** The canonical form of a row: two rows are equal if these are. NULL, a number and the same number as a text are told apart. */
export function lineOf(form: Form): (row: Row) => string {
  const { bytes } = form;
  const plain = [...form.numbers, ...form.texts, ...form.flags];
  return (row) => {
    const values = plain.map((name) => row[name]);
    for (const name of bytes) values.push((row[name] as Buffer | null)?.toString('base64') ?? null);
    return JSON.stringify(values);
  };
}

/** Compares two rows by their keys. */
export function byKey({ key }: Form): (one: Row, other: Row) => number {
  return (one, other) => {
    for (const name of key) {
      const difference = compare(one[name], other[name]);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}

function compare(one: Value | undefined, other: Value | undefined): number {
  if (one === other) return 0;
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
}
