import { hash } from 'node:crypto';
import { type Dialect, sqlite } from './dialect.ts';
import { type StoreOptions, unusable } from './engine.ts';

/** `pending` without `next_at`. Written alike in each statement, so that planners recognise the index. */
export const READY = "status = 'pending' AND next_at IS NULL";

/**
 * Of one subscriber: the indexes by which lanes and events are found begin with it. The CAST does nothing, but SQLite plans some statements
 * by the value of a bare parameter, and prepares them again each time one is bound: 140 µs against 5.
 */
export const OF = 'subscriber = CAST($subscriber AS text)';

/** Whether an event is a reminder that came due, or a tick of a schedule: nobody has sent it. */
export const IS_OWN = "origin IN ('reminder', 'schedule')";

/** Whether an entry of the quarantine names a webhook that has, or had, a secret. */
export const IS_OURS = 'webhook_id IN (SELECT webhook_id FROM secrets)';

/** In the place of the version: of a database that was moved, and of one that an unfinished move is filling. */
export const MOVED = 1_000_000;
export const MOVING = 1_000_001;
/** Of a database that did not begin with the tables of 1.0. */
export const BEFORE_1_0 = 1_000_002;

/** Refuses a database of another version than this program can use, or may bring it to. @throws KitError STORE_UNUSABLE */
export function refuseVersion(name: string, version: number, mustBe?: StoreOptions['mustBe']): void {
  const has = `${name} has schema version ${version}`;
  if (version === BEFORE_1_0)
    throw unusable(`${name} is of a program before 1.0: run that program, or begin with an empty database`);
  if (version === MOVED) throw unusable(`everything in ${name} was moved to another database: use that one`);
  if (version === MOVING) throw unusable(`an unfinished move fills ${name}: run npx hookkit move again`);
  if (version > VERSION)
    throw unusable(`${has} and this program knows ${VERSION}: run the newer program that has used it`);
  if (version < VERSION && (version > 0 ? mustBe : mustBe === 'there'))
    throw unusable(`${has}: start the service, which brings it to ${VERSION}`);
}

/** The tables of 1.0. Each index over resources costs a page of its own an event. */
const tables = (d: Dialect) => `
CREATE TABLE events (
  seq ${d.serial}, id text ${d.bytes} NOT NULL UNIQUE, subscriber text ${d.bytes} NOT NULL DEFAULT '',
  origin text NOT NULL DEFAULT 'notification', kind text NOT NULL, webhook_id text NOT NULL, site_id text NOT NULL,
  resource text ${d.bytes} NOT NULL, event_time bigint NOT NULL, received_at bigint NOT NULL, body text, request text, trace text,
  deliveries int NOT NULL DEFAULT 1, last_delivery_at bigint NOT NULL,
  status text NOT NULL DEFAULT 'pending', next_at bigint, held_by bigint,
  starts int NOT NULL DEFAULT 0, attempts int NOT NULL DEFAULT 0, crashes int NOT NULL DEFAULT 0, asked_at bigint,
  replays int NOT NULL DEFAULT 0, waiting text, late int, last_error text, handled_at bigint, ended_at bigint);
CREATE INDEX events_ready ON events (subscriber, resource, event_time, seq) WHERE ${READY};
CREATE INDEX events_waiting ON events (subscriber, held_by, next_at, event_time, seq) WHERE next_at IS NOT NULL;
CREATE INDEX events_handled ON events (subscriber, resource, event_time, seq) WHERE handled_at IS NOT NULL;
CREATE INDEX events_other ON events (subscriber, resource, event_time, seq) WHERE handled_at IS NULL AND NOT (${READY});
CREATE INDEX events_dead ON events (seq) WHERE status = 'dead';
CREATE INDEX events_failed ON events (seq) WHERE waiting = 'failed';
CREATE INDEX events_suspect ON events (subscriber, next_at) WHERE crashes >= 2 AND status = 'pending';
CREATE INDEX events_own ON events (subscriber, resource) WHERE ${IS_OWN} AND status = 'pending';
CREATE INDEX events_reconciled ON events (subscriber, resource, kind, seq) WHERE origin = 'reconciled';
CREATE INDEX events_full ON events (ended_at) WHERE ended_at IS NOT NULL AND body IS NOT NULL AND status <> 'dead';
CREATE TABLE lanes (
  subscriber text ${d.bytes} NOT NULL DEFAULT '', resource text ${d.bytes} NOT NULL, ready_at bigint NOT NULL,
  over_limit int NOT NULL DEFAULT 0, lease text, owner text, until bigint, event bigint, started_at bigint, late int,
  PRIMARY KEY (subscriber, resource));
CREATE INDEX lanes_free ON lanes (subscriber, over_limit, ready_at) WHERE lease IS NULL;
CREATE INDEX lanes_until ON lanes (subscriber, until) WHERE lease IS NOT NULL;
CREATE TABLE attempts (
  event bigint NOT NULL, lease text NOT NULL, replay int NOT NULL, attempt int NOT NULL, instance text NOT NULL,
  started_at bigint NOT NULL, ms bigint NOT NULL, outcome text NOT NULL, error text, log text,
  PRIMARY KEY (event, lease));
CREATE INDEX attempts_lost ON attempts (started_at) WHERE outcome = 'lost';
CREATE TABLE steps (event bigint NOT NULL, name text ${d.bytes} NOT NULL, result text, PRIMARY KEY (event, name));
CREATE TABLE state (
  subscriber text ${d.bytes} NOT NULL DEFAULT '', resource text ${d.bytes} NOT NULL, name text ${d.bytes} NOT NULL,
  value text NOT NULL, PRIMARY KEY (subscriber, resource, name));
CREATE TABLE reminders (
  subscriber text ${d.bytes} NOT NULL DEFAULT '', resource text ${d.bytes} NOT NULL, name text ${d.bytes} NOT NULL, due_at bigint NOT NULL,
  set_at bigint NOT NULL, set_by bigint, replay int, start int, data text NOT NULL, PRIMARY KEY (subscriber, resource, name));
CREATE INDEX reminders_due ON reminders (subscriber, due_at);
CREATE TABLE subscribers (name text ${d.bytes} PRIMARY KEY, place bigint, kinds text NOT NULL);
CREATE TABLE channels (
  resource text ${d.bytes} PRIMARY KEY, site_id text NOT NULL, state text NOT NULL, since bigint NOT NULL, event text NOT NULL);
CREATE INDEX channels_since ON channels (since);
CREATE TABLE secrets (
  webhook_id text ${d.bytes} NOT NULL, fingerprint text NOT NULL, sealed text NOT NULL, created_at bigint NOT NULL,
  retire_at bigint, PRIMARY KEY (webhook_id, fingerprint));
CREATE TABLE quarantine (
  seq ${d.serial}, digest text NOT NULL UNIQUE, id text NOT NULL, kind text NOT NULL, webhook_id text ${d.bytes} NOT NULL,
  site_id text NOT NULL, resource text NOT NULL, event_time bigint NOT NULL, received_at bigint NOT NULL, body text NOT NULL,
  token text NOT NULL, source text NOT NULL, network text NOT NULL, bytes int NOT NULL, deliveries int NOT NULL DEFAULT 1);
CREATE INDEX quarantine_webhook ON quarantine (webhook_id, seq, received_at, bytes);
CREATE INDEX quarantine_network ON quarantine (network, seq, bytes);
CREATE TABLE stats (
  minute bigint NOT NULL, instance text ${d.bytes} NOT NULL, subscriber text NOT NULL DEFAULT '', kind text NOT NULL,
  result text NOT NULL, count bigint NOT NULL, ms double precision NOT NULL, slowest double precision NOT NULL,
  PRIMARY KEY (minute, instance, subscriber, kind, result));
CREATE TABLE instances (
  name text ${d.bytes} NOT NULL, started_at bigint NOT NULL, version text NOT NULL, running int NOT NULL,
  kinds text NOT NULL, clock_at bigint NOT NULL, seen_at bigint NOT NULL, left_at bigint, PRIMARY KEY (name, started_at));
CREATE TABLE refusals (
  reason text NOT NULL, webhook_id text ${d.bytes} NOT NULL, network text NOT NULL,
  first_at bigint NOT NULL, last_at bigint NOT NULL, count bigint NOT NULL, in_a_row bigint NOT NULL, row_since bigint,
  PRIMARY KEY (reason, webhook_id, network));
CREATE TABLE audit (
  seq ${d.serial}, at bigint NOT NULL, what text NOT NULL, filters text NOT NULL, who text NOT NULL, changed bigint);
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);`;

/**
 * What makes a database of each version from the one before it. Once released, a step never changes, and it only adds what the version
 * before can do without, so that both may run side by side.
 */
export const migrations: readonly ((d: Dialect) => string)[] = [tables];

/** The version that the code reads and writes. */
export const VERSION = migrations.length;

/** Tells databases that began with the tables of 1.0, whatever their version, from those of programs before it. */
export const SHAPE = Number.parseInt(hash('sha256', tables(sqlite)).slice(0, 7), 16);
