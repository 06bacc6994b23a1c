/**
 * The schema of version 9, which `extensions` extend. Databases of former versions are moved into it: see move.ts.
 *
 * - **Ledger**: `ledger` has what was received, and is only appended to. An ack writes this table and its one index, which
 *   is led by time, so that inserts stay local however large it is. `repeats` counts the deliveries beyond the first.
 * - **Work**: a row of `work` for each event that is pending or running, and a row of `lanes` for each resource that has
 *   something ready or running. A claim reads one small index however long the backlog is, and the row of the resource is
 *   also the lock that keeps two of its events apart. `cursors` says up to where the ledger was taken into work, and
 *   how often secrets were changed.
 * - **History**: `results` has the end of each finished event, `attempts` its starts. `finished`, `kinds`, `tallies` and
 *   `channels` are what searches, lists and counts are read by.
 *
 * The view `events` puts the three together.
 */
export const schema = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

  CREATE TABLE ledger (
    seq INTEGER PRIMARY KEY,
    event_time INTEGER NOT NULL,
    digest BLOB NOT NULL,
    kind TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    site_id TEXT NOT NULL,
    resource TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    body TEXT
  );
  CREATE UNIQUE INDEX ledger_identity ON ledger (event_time, digest);

  CREATE TABLE repeats (
    event INTEGER PRIMARY KEY,
    repeats INTEGER NOT NULL,
    last_at INTEGER NOT NULL
  );

  CREATE TABLE cursors (name TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO cursors VALUES ('taken', 0);

  CREATE TABLE work (
    event INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    resource TEXT NOT NULL,
    event_time INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    replays INTEGER NOT NULL,
    late INTEGER,
    next_attempt_at INTEGER,
    last_error TEXT
  );
  CREATE INDEX work_ready ON work (resource, event_time) WHERE next_attempt_at IS NULL;
  CREATE INDEX work_put_off ON work (resource, event_time) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX work_waiting ON work (next_attempt_at) WHERE next_attempt_at IS NOT NULL;

  CREATE TABLE lanes (
    resource TEXT PRIMARY KEY,
    head INTEGER NOT NULL,
    event INTEGER,
    owner TEXT,
    lease_until INTEGER,
    started_at INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX lanes_free ON lanes (head) WHERE event IS NULL;
  CREATE INDEX lanes_leased ON lanes (lease_until) WHERE event IS NOT NULL;

  CREATE TABLE results (
    event INTEGER PRIMARY KEY,
    status TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    replays INTEGER NOT NULL,
    late INTEGER,
    handled_at INTEGER,
    last_error TEXT,
    has_body INTEGER NOT NULL DEFAULT 1
  );
  CREATE INDEX results_status ON results (status) WHERE status <> 'handled';
  CREATE INDEX results_prunable ON results (handled_at) WHERE handled_at IS NOT NULL AND has_body = 1;

  CREATE TABLE finished (
    resource TEXT NOT NULL,
    event_time INTEGER NOT NULL,
    event INTEGER NOT NULL,
    is_handled INTEGER NOT NULL,
    PRIMARY KEY (resource, event_time, event)
  ) WITHOUT ROWID;

  CREATE TABLE kinds (
    kind TEXT NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (kind, event)
  ) WITHOUT ROWID;

  CREATE TABLE tallies (
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (kind, status)
  ) WITHOUT ROWID;

  CREATE TABLE channels (
    resource TEXT PRIMARY KEY,
    site_id TEXT NOT NULL,
    state TEXT NOT NULL,
    since INTEGER NOT NULL,
    event INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX channels_state ON channels (state, since);
  CREATE INDEX channels_since ON channels (since);

  CREATE TABLE attempts (
    event INTEGER NOT NULL,
    replay INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT,
    PRIMARY KEY (event, replay, attempt)
  ) WITHOUT ROWID;

  CREATE TABLE steps (
    event INTEGER NOT NULL,
    name TEXT NOT NULL,
    result TEXT,
    PRIMARY KEY (event, name)
  ) WITHOUT ROWID;

  CREATE TABLE state (
    resource TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (resource, name)
  ) WITHOUT ROWID;

  CREATE VIEW events AS
    SELECT ledger.seq, ledger.event_time, ledger.digest, ledger.kind, ledger.webhook_id, ledger.site_id, ledger.resource,
      ledger.received_at,
      1 + ifnull(repeats.repeats, 0) AS deliveries,
      max(ledger.received_at, ifnull(repeats.last_at, ledger.received_at)) AS last_delivery_at,
      CASE WHEN results.event IS NOT NULL THEN results.status
        WHEN lanes.event = ledger.seq THEN 'running' ELSE 'pending' END AS status,
      coalesce(results.attempts, work.attempts, 0) AS attempts,
      coalesce(results.replays, work.replays, 0) AS replays,
      work.next_attempt_at, results.handled_at,
      ifnull(results.last_error, work.last_error) AS last_error,
      ledger.body,
      coalesce(results.interrupted, work.interrupted, 0) AS interrupted,
      ifnull(results.late, work.late) AS late
    FROM ledger
    LEFT JOIN results ON results.event = ledger.seq
    LEFT JOIN work ON work.event = ledger.seq
    LEFT JOIN lanes ON lanes.resource = work.resource
    LEFT JOIN repeats ON repeats.event = ledger.seq;

  CREATE TABLE secrets (
    webhook_id TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    retire_at INTEGER,
    PRIMARY KEY (webhook_id, fingerprint)
  ) WITHOUT ROWID;
  CREATE TABLE own_secrets (webhook_id TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TRIGGER own_secrets_known AFTER INSERT ON secrets BEGIN
    INSERT OR IGNORE INTO own_secrets VALUES (CAST(NEW.webhook_id AS TEXT));
  END;

  CREATE TABLE quarantine (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    token_digest BLOB NOT NULL UNIQUE,
    webhook_id TEXT NOT NULL,
    network TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    source TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    event_time INTEGER NOT NULL,
    digest BLOB NOT NULL,
    kind TEXT NOT NULL,
    site_id TEXT NOT NULL,
    resource TEXT NOT NULL,
    token TEXT NOT NULL,
    body TEXT NOT NULL
  );
  CREATE INDEX quarantine_of_webhook ON quarantine (webhook_id);
  CREATE INDEX quarantine_of_share ON quarantine (webhook_id, network);
  CREATE TABLE quarantine_sums (
    what TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    network TEXT NOT NULL,
    entries INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (what, webhook_id, network)
  ) WITHOUT ROWID;
  CREATE INDEX quarantine_largest ON quarantine_sums (what, bytes);
  CREATE INDEX quarantine_largest_of_webhook ON quarantine_sums (webhook_id, bytes) WHERE what = 'share';
  CREATE INDEX quarantine_largest_of_network ON quarantine_sums (network, bytes) WHERE what = 'share';
  INSERT INTO quarantine_sums VALUES ('all', '', '', 0, 0), ('lost', '', '', 0, 0);
  CREATE TABLE quarantine_repeats (
    id INTEGER PRIMARY KEY,
    repeats INTEGER NOT NULL,
    last_at INTEGER NOT NULL
  );
  CREATE TRIGGER quarantine_removed AFTER DELETE ON quarantine BEGIN
    DELETE FROM quarantine_repeats WHERE id = OLD.id;
  END;
`;

/** The version of a database with this schema alone, into which former databases are moved. */
export const MOVED_VERSION = 9;

/**
 * What makes each later version from the one before it, in place and at once. Once released, an entry never changes. Programs
 * of the version before that are running go on beside it.
 */
export const extensions: readonly string[] = [
  // The process that ran a start. Records from before have none.
  'ALTER TABLE attempts ADD COLUMN instance TEXT',
  // Counts the changes of secrets, whoever makes them: so a look for new ones need not read them all.
  `
  INSERT INTO cursors VALUES ('secrets', 0);
  CREATE TRIGGER secrets_added AFTER INSERT ON secrets BEGIN
    UPDATE cursors SET seq = seq + 1 WHERE name = 'secrets';
  END;
  CREATE TRIGGER secrets_changed AFTER UPDATE ON secrets BEGIN
    UPDATE cursors SET seq = seq + 1 WHERE name = 'secrets';
  END;
  CREATE TRIGGER secrets_removed AFTER DELETE ON secrets BEGIN
    UPDATE cursors SET seq = seq + 1 WHERE name = 'secrets';
  END;
  CREATE TRIGGER own_secrets_removed AFTER DELETE ON own_secrets BEGIN
    UPDATE cursors SET seq = seq + 1 WHERE name = 'secrets';
  END;
`,
];

/** The present version. */
export const SCHEMA_VERSION = MOVED_VERSION + extensions.length;
