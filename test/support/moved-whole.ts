import Database from 'better-sqlite3';

const EVENTS = `seq, event_time, digest, kind, webhook_id, site_id, resource, received_at, deliveries, last_delivery_at, status,
  attempts, replays, next_attempt_at, handled_at, last_error, body, interrupted, late`;
const ATTEMPTS = 'event, replay, attempt, started_at, duration_ms, outcome, error';
const SAME = 'steps state channels secrets own_secrets quarantine quarantine_sums quarantine_repeats';
/** What tells the two apart, by table: nothing where all rows are the same. */
const COLUMNS = new Map([
  ['events', EVENTS],
  ['attempts', ATTEMPTS],
  ...SAME.split(' ').map((table) => [table, '*'] as const),
]);

/** How many rows a moved database does not have as its backup has them, or has in addition, by table. */
export function differences(path: string, backup: string): Record<string, number> {
  const db = new Database(path, { readonly: true });
  db.prepare('ATTACH ? AS former').run(backup);
  const count = (sql: string) => db.prepare<[], number>(`SELECT count(*) FROM (${sql})`).pluck().get() ?? 0;
  const found = [...COLUMNS].map(([table, columns]) => {
    const [moved, former] = ['main', 'former'].map((name) => `SELECT ${columns} FROM ${name}.${table}`);
    return [table, count(`${moved} EXCEPT ${former}`) + count(`${former} EXCEPT ${moved}`)] as const;
  });
  db.close();
  return Object.fromEntries(found.filter(([, rows]) => rows > 0));
}

/** Makes a database of version 8 so many times as large: its events again, of other resources and other digests. */
export function enlarge(path: string, times: number): void {
  const db = new Database(path);
  db.pragma('synchronous = OFF');
  const top = db.prepare<[], number>('SELECT max(seq) FROM events').pluck().get() ?? 0;
  const again = EVENTS.replace('seq,', 'seq + :by,')
    .replace('digest', 'randomblob(32)')
    .replace(' resource', " resource || ' ' || :by");
  // Triggers count them, too.
  const events = db.prepare(`INSERT INTO events (${EVENTS}) SELECT ${again} FROM events WHERE seq <= ${top}`);
  const attempts = db.prepare(
    `INSERT INTO attempts SELECT event + :by, replay, attempt, started_at, duration_ms, outcome, error
     FROM attempts WHERE event <= ${top}`,
  );
  const lanes = db.prepare(
    `INSERT INTO lanes SELECT resource || ' ' || :by, head, event + :by, owner, lease_until, started_at
     FROM lanes WHERE instr(resource, ' ') = 0`,
  );
  db.transaction(() => {
    for (let by = top; by < top * times; by += top)
      for (const one of [events, attempts, lanes]) one.run({ by });
  })();
  db.close();
}
