/**
 * The schema, one entry a version, forward only. A database's version is its `user_version`.
 *
 * An ack writes an events row, its identity, the head of its resource queue, and the rows that lists are read by. Partial
 * indexes hold finished events, and are written when an event finishes. Triggers keep `tallies` and `channels`, so that
 * counting events or listing channels costs the same however many events there are. The table `lanes` has the resource
 * queues, a row for each resource with work. A claim reads one small index however long the backlog is, and the row is
 * also the lock that keeps two events of one resource apart. The table keeps its former name: migrations never change.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    event_time INTEGER NOT NULL,
    digest BLOB NOT NULL,
    kind TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    site_id TEXT NOT NULL,
    resource TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    deliveries INTEGER NOT NULL DEFAULT 1,
    last_delivery_at INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending',
    attempts INTEGER NOT NULL DEFAULT 0,
    replays INTEGER NOT NULL DEFAULT 0,
    next_attempt_at INTEGER,
    handled_at INTEGER,
    last_error TEXT,
    body TEXT
  );
  CREATE UNIQUE INDEX events_identity ON events (event_time, digest);
  CREATE INDEX events_ready ON events (resource, event_time)
    WHERE status = 'pending' AND next_attempt_at IS NULL;
  CREATE INDEX events_waiting ON events (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX events_handled ON events (resource, event_time) WHERE status = 'handled';
  CREATE INDEX events_finished ON events (handled_at) WHERE handled_at IS NOT NULL AND body IS NOT NULL;
  CREATE INDEX events_given_up ON events (resource, event_time) WHERE status IN ('skipped', 'dead');
  CREATE INDEX events_put_off ON events (resource, event_time) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX events_status ON events (status) WHERE status <> 'handled';
  CREATE INDEX events_kind ON events (kind);

  CREATE TABLE tallies (
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (kind, status)
  ) WITHOUT ROWID;
  CREATE TRIGGER events_tallied AFTER INSERT ON events BEGIN
    INSERT INTO tallies VALUES (NEW.kind, NEW.status, 1)
      ON CONFLICT (kind, status) DO UPDATE SET events = events + 1;
  END;
  CREATE TRIGGER events_moved AFTER UPDATE OF status ON events WHEN OLD.status <> NEW.status BEGIN
    UPDATE tallies SET events = events - 1 WHERE kind = OLD.kind AND status = OLD.status;
    INSERT INTO tallies VALUES (NEW.kind, NEW.status, 1)
      ON CONFLICT (kind, status) DO UPDATE SET events = events + 1;
  END;

  CREATE TABLE channels (
    resource TEXT PRIMARY KEY,
    site_id TEXT NOT NULL,
    state TEXT NOT NULL,
    since INTEGER NOT NULL,
    event INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX channels_state ON channels (state, since);
  CREATE INDEX channels_since ON channels (since);
  CREATE TRIGGER channels_moved AFTER INSERT ON events
  WHEN NEW.kind IN ('channel_active', 'channel_idle') AND NEW.resource GLOB 'channel:*' BEGIN
    INSERT INTO channels
      VALUES (NEW.resource, NEW.site_id, substr(NEW.kind, 9), NEW.event_time, NEW.seq)
      ON CONFLICT (resource) DO UPDATE
        SET site_id = excluded.site_id, state = excluded.state, since = excluded.since, event = excluded.event
        WHERE excluded.since >= since;
  END;

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

  CREATE TABLE secrets (
    webhook_id TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    retire_at INTEGER,
    PRIMARY KEY (webhook_id, fingerprint)
  ) WITHOUT ROWID;

  CREATE TABLE quarantine (
    id INTEGER PRIMARY KEY,
    token TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    event_time INTEGER NOT NULL,
    digest BLOB NOT NULL,
    kind TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    site_id TEXT NOT NULL,
    resource TEXT NOT NULL,
    body TEXT NOT NULL
  );
  CREATE INDEX quarantine_source ON quarantine (source);
  CREATE INDEX quarantine_webhook ON quarantine (webhook_id);
  `,
  // Handlers could once give back a pause that is no number, which parked their event for ever, and a reason that is no
  // text, or one of any length. Such an event waits no longer; such a text becomes one.
  `
  UPDATE events SET next_attempt_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)
  WHERE next_attempt_at IS NOT NULL
    AND (typeof(next_attempt_at) <> 'integer' OR next_attempt_at > (unixepoch() + 31 * 86400) * 1000);
  UPDATE events SET last_error = substr(CAST(last_error AS TEXT), 1, 4000)
  WHERE status <> 'handled' AND (typeof(last_error) = 'blob' OR length(last_error) > 4000);
  UPDATE attempts SET error = substr(CAST(error AS TEXT), 1, 4000)
  WHERE typeof(error) = 'blob' OR length(error) > 4000;
  UPDATE OR REPLACE steps SET name = CAST(name AS TEXT) WHERE typeof(name) <> 'text';
  `,

  // Bounded by bytes: what each network and each webhook holds is summed up, so that making room reads no entries. Long
  // columns stand last, since what comes before them can be read without them; an index over tokens would hold them twice.
  `
  ALTER TABLE quarantine RENAME TO quarantine_before;
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
  INSERT INTO quarantine
    SELECT id, token_digest(token), webhook_id, network_of(source),
      512 + octet_length(token) + octet_length(body) + octet_length(source)
        + 4 * octet_length(webhook_id) + octet_length(kind) + octet_length(site_id) + octet_length(resource),
      source, received_at, event_time, digest, kind, site_id, resource, token, body
    FROM quarantine_before ORDER BY id;
  DROP TABLE quarantine_before;

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
  INSERT INTO quarantine_sums SELECT 'all', '', '', count(*), coalesce(sum(bytes), 0) FROM quarantine;
  INSERT INTO quarantine_sums SELECT 'webhook', webhook_id, '', count(*), sum(bytes) FROM quarantine GROUP BY webhook_id;
  INSERT INTO quarantine_sums SELECT 'network', '', network, count(*), sum(bytes) FROM quarantine GROUP BY network;
  INSERT INTO quarantine_sums
    SELECT 'share', webhook_id, network, count(*), sum(bytes) FROM quarantine GROUP BY webhook_id, network;
  INSERT INTO quarantine_sums VALUES ('lost', '', '', 0, 0);
  `,

  // Remembers each webhook that ever had a stored secret, since rows of secrets can be removed: WEBHOOK_SECRET never serves
  // it again. A trigger keeps it, so that programs of the versions before, which may run beside this one, keep it too.
  `
  CREATE TABLE own_secrets (webhook_id TEXT PRIMARY KEY) WITHOUT ROWID;
  INSERT OR IGNORE INTO own_secrets SELECT CAST(webhook_id AS TEXT) FROM secrets;
  CREATE TRIGGER own_secrets_known AFTER INSERT ON secrets BEGIN
    INSERT OR IGNORE INTO own_secrets VALUES (CAST(NEW.webhook_id AS TEXT));
  END;
  `,

  // The state of a channel at one event time is what was received later, then what was stored later: an event that is
  // admitted from quarantine is stored last, and may have been received first.
  `
  DROP TRIGGER channels_moved;
  CREATE TRIGGER channels_moved AFTER INSERT ON events
  WHEN NEW.kind IN ('channel_active', 'channel_idle') AND NEW.resource GLOB 'channel:*' BEGIN
    INSERT INTO channels
      VALUES (NEW.resource, NEW.site_id, substr(NEW.kind, 9), NEW.event_time, NEW.seq)
      ON CONFLICT (resource) DO UPDATE
        SET site_id = excluded.site_id, state = excluded.state, since = excluded.since, event = excluded.event
        WHERE excluded.since > since OR (
          excluded.since = since
          AND NEW.received_at >= (SELECT received_at FROM events WHERE seq = channels.event));
  END;
  UPDATE channels SET (site_id, state, event) = (
    SELECT site_id, substr(kind, 9), seq FROM events
    WHERE event_time = channels.since AND resource = channels.resource AND kind IN ('channel_active', 'channel_idle')
    ORDER BY received_at DESC, seq DESC LIMIT 1);
  `,

  // The deliveries of quarantined notifications beyond the first. They stand beside the entries, which may have 150 KB: a
  // repeat must not write all of that again.
  `
  CREATE TABLE quarantine_repeats (
    id INTEGER PRIMARY KEY,
    repeats INTEGER NOT NULL,
    last_at INTEGER NOT NULL
  );
  CREATE TRIGGER quarantine_removed AFTER DELETE ON quarantine BEGIN
    DELETE FROM quarantine_repeats WHERE id = OLD.id;
  END;
  `,

  // The state of a resource (ctx.state). It has no reference to events: retention prunes them and leaves it.
  `
  CREATE TABLE state (
    resource TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (resource, name)
  ) WITHOUT ROWID;
  `,

  // A stop takes the attempt of a start back, but the start keeps its number and record: `interrupted` counts the starts
  // that `attempts` does not. `late` is what the handler was told when the event first ran. Both leave the rows that are there
  // as they are. Where a former version released an event, the next start gets the number after the released one.
  `
  ALTER TABLE events ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE events ADD COLUMN late INTEGER;
  UPDATE events SET interrupted = 1
  WHERE status = 'pending' AND status <> 'handled' AND EXISTS
    (SELECT 1 FROM attempts WHERE event = events.seq AND replay = events.replays AND attempt = events.attempts + 1);
  UPDATE events SET interrupted = 1
  WHERE status = 'running' AND status <> 'handled' AND EXISTS
    (SELECT 1 FROM attempts WHERE event = events.seq AND replay = events.replays AND attempt = events.attempts);
  `,
];
