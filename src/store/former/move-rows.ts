import type { Database } from 'better-sqlite3';
import { MOVED_VERSION } from '../sqlite/schema.ts';
import { HEAD_OF } from '../sqlite/tables/lanes.ts';

// Copies the rows of a database of version 8, `main`, into the new file, `moved`. Each step is a commit. Tables are filled in
// the order of their keys, so that their last row says where the next step begins.

/** How many rows of a table one step copies. */
const STEP = 5_000;

/** Told after each step how many events were copied. */
export type OnStep = (events: number) => void;

/** Copies the rows that are not in the new file yet. */
export function copyRows(db: Database, onStep: OnStep): void {
  copyEvents(db, onStep);
  const events = countOf(db, 'moved.ledger');
  for (const list of LISTS) {
    for (const copy = listCopier(db, list); copy() > 0; ) onStep(events);
  }
  db.transaction(() => {
    for (const sql of REST) db.exec(sql);
    db.pragma(`moved.user_version = ${MOVED_VERSION}`);
  })();
}

/** Whether all rows are in the new file. */
export function isCopied(db: Database): boolean {
  return db.pragma('moved.user_version', { simple: true }) === MOVED_VERSION;
}

/** Before all events, and after all: SQLite sorts bytes behind numbers. Records without an event are copied too. */
const [BEFORE_ALL, AFTER_ALL] = [Number.MIN_SAFE_INTEGER, Buffer.alloc(16, 0xff)];

const UNFINISHED = `status IN ('pending', 'running')`;
const OF_STEP = 'seq > :after AND seq <= :upTo';

/** Copies a stretch of events, with all that only they have. A running event waits for nothing. */
const EVENTS = [
  `INSERT INTO moved.ledger
     SELECT seq, event_time, digest, kind, webhook_id, site_id, resource, received_at, body
     FROM main.events WHERE ${OF_STEP} ORDER BY seq`,
  `INSERT INTO moved.repeats
     SELECT seq, deliveries - 1, last_delivery_at FROM main.events
     WHERE ${OF_STEP} AND (deliveries <> 1 OR last_delivery_at > received_at) ORDER BY seq`,
  `INSERT INTO moved.work
     SELECT seq, kind, resource, event_time, attempts, interrupted, replays, late,
       iif(status = 'running', NULL, next_attempt_at), last_error
     FROM main.events WHERE ${OF_STEP} AND +${UNFINISHED} ORDER BY seq`,
  `INSERT INTO moved.results
     SELECT seq, status, attempts, interrupted, replays, late, handled_at, last_error, body IS NOT NULL
     FROM main.events WHERE ${OF_STEP} AND NOT +${UNFINISHED} ORDER BY seq`,
  `INSERT INTO moved.attempts SELECT * FROM main.attempts WHERE event > :after AND event <= :upTo`,
  `INSERT INTO moved.steps SELECT * FROM main.steps WHERE event > :after AND event <= :upTo`,
];

function copyEvents(db: Database, onStep: OnStep): void {
  const statements = EVENTS.map((sql) => db.prepare<[{ after: number; upTo: number | Buffer }]>(sql));
  const endOf = db
    .prepare<[number], number>(
      `SELECT seq FROM main.events WHERE seq > ? ORDER BY seq LIMIT 1 OFFSET ${STEP - 1}`,
    )
    .pluck();
  const copy = db.transaction((after: number, upTo: number | Buffer) => {
    for (const statement of statements) statement.run({ after, upTo });
  });
  const [last, copied] = ['main.events', 'moved.ledger'].map((table) =>
    db.prepare<[], number | null>(`SELECT max(seq) FROM ${table}`).pluck().get(),
  );
  if (last === copied) return;
  let events = countOf(db, 'moved.ledger');
  for (let after: number | undefined = copied ?? BEFORE_ALL; after !== undefined; ) {
    const upTo = endOf.get(after);
    copy(after, upTo ?? AFTER_ALL);
    events += STEP;
    if (upTo !== undefined) onStep(events);
    after = upTo;
  }
}

/** A table that is copied in the order of its key, from an index that has that order. */
interface List {
  readonly table: string;
  /** the columns of its key */
  readonly key: readonly string[];
  /** the rows to copy, as a select that ends with a condition */
  readonly selects: readonly string[];
  /** the same columns there */
  readonly formerKey: readonly string[];
}

const FINISHED = 'SELECT resource, event_time, seq,';

const LISTS: readonly List[] = [
  {
    table: 'finished',
    key: ['resource', 'event_time', 'event'],
    formerKey: ['resource', 'event_time', 'seq'],
    selects: [
      `${FINISHED} 1 FROM main.events INDEXED BY events_handled WHERE status = 'handled'`,
      `${FINISHED} 0 FROM main.events INDEXED BY events_given_up WHERE status IN ('skipped', 'dead')`,
    ],
  },
  {
    table: 'kinds',
    key: ['kind', 'event'],
    formerKey: ['kind', 'seq'],
    selects: ['SELECT kind, seq FROM main.events INDEXED BY events_kind WHERE TRUE'],
  },
  {
    table: 'state',
    key: ['resource', 'name'],
    formerKey: ['resource', 'name'],
    selects: ['SELECT resource, name, value FROM main.state WHERE TRUE'],
  },
];

/** @returns a function that copies the next rows and says how many there were */
function listCopier(db: Database, { table, key, formerKey, selects }: List): () => number {
  const last = `(SELECT ${key.join(', ')} FROM moved.${table} ORDER BY ${key.map((one) => `${one} DESC`).join(', ')} LIMIT 1)`;
  const insert = (condition: string) =>
    db.prepare(
      `INSERT INTO moved.${table} ${selects.map((select) => `${select} ${condition}`).join(' UNION ALL ')}
       ORDER BY ${key.map((_, index) => index + 1).join(', ')} LIMIT ${STEP}`,
    );
  const [first, next] = [insert(''), insert(`AND (${formerKey.join(', ')}) > ${last}`)];
  const isEmpty = db.prepare(`SELECT 1 FROM moved.${table} LIMIT 1`);
  return () => (isEmpty.get() ? next : first).run().changes;
}

/** Tables that are small, or that what was copied before says all of. */
const SAME = ['channels', 'secrets', 'quarantine', 'quarantine_sums', 'quarantine_repeats'];
const REST: readonly string[] = [
  'DELETE FROM moved.quarantine_sums',
  ...SAME.map((table) => `INSERT INTO moved.${table} SELECT * FROM main.${table}`),
  // Numbers that were given out are not given out again.
  'DELETE FROM moved.sqlite_sequence',
  `INSERT INTO moved.sqlite_sequence SELECT * FROM main.sqlite_sequence WHERE name = 'quarantine'`,
  // A trigger has written those that have a secret.
  'INSERT OR IGNORE INTO moved.own_secrets SELECT * FROM main.own_secrets',
  'INSERT OR REPLACE INTO moved.meta SELECT * FROM main.meta',
  // Running events count as pending: what runs is in lanes.
  `INSERT INTO moved.tallies SELECT * FROM main.tallies WHERE NOT ${UNFINISHED}`,
  `INSERT INTO moved.tallies SELECT kind, 'pending', count(*) FROM moved.work GROUP BY kind`,
  `INSERT INTO moved.lanes (resource, head)
     SELECT resource, (${HEAD_OF('lane.resource', '0', 'moved.')})
     FROM (SELECT DISTINCT resource FROM moved.work WHERE next_attempt_at IS NULL) AS lane`,
  `UPDATE moved.lanes SET (event, owner, lease_until, started_at) =
     (SELECT former.event, former.owner, former.lease_until, former.started_at
      FROM main.lanes AS former JOIN main.events ON events.seq = former.event AND events.status = 'running'
      WHERE former.resource = lanes.resource AND events.resource = lanes.resource)`,
  `UPDATE moved.cursors SET seq = (SELECT ifnull(max(seq), 0) FROM moved.ledger) WHERE name = 'taken'`,
];

const FINISHED_FORMER = `main.events WHERE NOT ${UNFINISHED}`;

/** Tables that must have as many rows in the new file as there were. */
const AS_MANY: readonly (readonly [moved: string, former: string])[] = [
  ['ledger', 'main.events'],
  ['kinds', 'main.events'],
  ['work', `main.events WHERE ${UNFINISHED}`],
  ['results', FINISHED_FORMER],
  ['finished', FINISHED_FORMER],
  ...['attempts', 'steps', 'state', 'own_secrets', ...SAME].map((table) => [table, `main.${table}`] as const),
];

/** The tables that do not have all their rows, and damage that SQLite finds in the new file. */
export function problemsOf(db: Database): string[] {
  const problems = db.prepare<[], string>('PRAGMA moved.quick_check(3)').pluck().all();
  const missing = AS_MANY.flatMap(([table, former]) => {
    const [there, were] = [countOf(db, `moved.${table}`), countOf(db, former)];
    return there === were ? [] : [`${table} has ${there} rows, not ${were}`];
  });
  return [...problems.filter((text) => text !== 'ok'), ...missing];
}

function countOf(db: Database, table: string): number {
  return db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
}
