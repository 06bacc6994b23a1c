import { KitError } from '../../../base/errors.ts';
import { type Origin, TOLD } from '../../../notification/kinds.ts';
import { type Db, type Dialect, one, type Value } from '../../dialect.ts';
import { IS_OWN, READY } from '../../schema.ts';
import { type EventId, erasedName, type Status, type StoredEvent, subscriberOf } from '../../stored.ts';
import type { Lane } from '../lanes.ts';
import { PLACES } from '../record.ts';

/** Selects events; an absent member does not restrict. Times are event times, milliseconds since the epoch. */
export interface EventFilter {
  readonly ids?: readonly string[] | undefined;
  /** one, or any of several */
  readonly kind?: string | readonly string[] | undefined;
  readonly status?: Status | undefined;
  readonly origins?: readonly Origin[] | undefined;
  /** why it waits */
  readonly waiting?: StoredEvent['waiting'];
  readonly site?: string | undefined;
  /** the name of one, or '' for the handlers without a name; undefined: all */
  readonly subscriber?: string | undefined;
  readonly resource?: string | undefined;
  readonly webhook?: string | undefined;
  /** happened from this time on; an event without an event time did not, nor before one */
  readonly since?: number | undefined;
  /** happened before this time */
  readonly until?: number | undefined;
  /** received after the event with this seq */
  readonly newerThan?: number | undefined;
  /** a part of the body, or the whole id of the request that brought it */
  readonly q?: string | undefined;
  /** the first line of its last error, in which `*` stands for anything */
  readonly error?: string | undefined;
}

/** A stretch of the events that match. Its cost depends on its reach, not on the number of events. */
export interface Search {
  readonly filter?: EventFilter;
  /** by event time where the filter has a resource, else as received; newest first without it */
  readonly order?: 'newest' | 'oldest' | undefined;
  /** only events after this one in that order */
  readonly after?: string | undefined;
  /** the most events to search through */
  readonly reach?: number | undefined;
  /** leaves out events with a higher seq */
  readonly upTo?: number | undefined;
  /** events found, at most */
  readonly limit: number;
}

/** When an event was received, and its seq. */
export type Receipt = Pick<StoredEvent, 'seq' | 'receivedAt'>;

/** An event as it was received. */
export type Received = Pick<StoredEvent, 'seq' | 'id' | 'receivedAt' | 'webhookId' | 'origin' | 'body'>;

/** An event that should have come: of this kind and resource, with this event time or a newer one, milliseconds since the epoch. */
export type Expected = Pick<StoredEvent, 'kind' | 'resource' | 'eventTime'>;

/** Each event of a resource is in one of three indexes, in which each subscriber has a stretch of its own. */
const INDEXED = [
  'handled_at IS NOT NULL',
  `handled_at IS NULL AND NOT (${READY})`,
  `${READY} AND handled_at IS NULL`,
];
/** What a query finds in all of them. It ends with a condition. */
export const inAll = (query: string) => INDEXED.map((which) => `${query} AND ${which}`).join(' UNION ALL ');
const isNone = (events: string) => `(SELECT 1 FROM (${inAll(`SELECT 1 FROM ${events}`)}) b LIMIT 1) IS NULL`;

/**
 * Of a notification: the id of the reconciled event that it repeats, being the first of its kind and resource after that one. There are
 * few reconciled events, and they have an index. @param e the name of the events in the query
 */
export function repeatsOf(e: string): string {
  const isAlike = (o: string) => `${o}.subscriber = ${e}.subscriber AND ${o}.resource = ${e}.resource
    AND ${o}.kind = ${e}.kind AND ${o}.seq < ${e}.seq`;
  const between = `events n WHERE ${isAlike('n')} AND n.seq > p.seq AND n.origin = 'notification'`;
  return `CASE WHEN ${e}.origin = 'notification' THEN (SELECT p.id FROM events p
    WHERE ${isAlike('p')} AND p.origin = 'reconciled' AND ${isNone(between)} ORDER BY p.seq DESC LIMIT 1) END AS repeats`;
}

/** The columns of a StoredEvent, where the events are `e` and the lanes that run them are `l`. */
export const COLUMNS = `e.seq, e.id, e.subscriber, e.origin, e.kind, e.resource, e.site_id, e.webhook_id, e.request, e.trace,
  e.event_time, e.received_at, e.deliveries, e.last_delivery_at,
  CASE WHEN l.lease IS NULL THEN e.status ELSE 'running' END AS status,
  CASE WHEN l.lease IS NULL THEN e.starts ELSE e.starts + 1 END AS starts,
  e.attempts, e.replays, e.next_at AS next_attempt_at, e.waiting,
  CASE WHEN e.status IN ('handled', 'skipped') THEN e.ended_at END AS handled_at, e.last_error, e.body, e.ended_at,
  CASE WHEN l.lease IS NULL THEN e.late ELSE coalesce(e.late, l.late, 0) END AS late, ${repeatsOf('e')}`;

/** The lanes that run events. */
export const LANES =
  'LEFT JOIN lanes l ON l.subscriber = e.subscriber AND l.resource = e.resource AND l.event = e.seq';

/** Reads events by a query of COLUMNS. */
export async function eventsBy(db: Db, query: string, params: object): Promise<StoredEvent[]> {
  const rows = await db.all<Omit<StoredEvent, 'late'> & { readonly late: number | undefined }>(query, params);
  return rows.map(({ late, ...row }) => ({ ...row, late: late === undefined ? undefined : late === 1 }));
}

/**
 * How many events one query holds against a filter, some 20 ms: a filter that few events match goes through all events in such steps. As
 * long as a query reads, the log of SQLite cannot begin again.
 */
const REACH = 20_000;

/** All subscribers that have events, removed ones too: '' for the handlers without a name first. */
export const subscriberNames = async (db: Db): Promise<string[]> => {
  const rows = await db.all<{ name: string }>('SELECT name FROM subscribers ORDER BY name');
  return ['', ...rows.map(({ name }) => name)];
};

export function searchReads(d: Dialect) {
  const tally = `count(*) AS events, count(CASE WHEN ${READY} THEN 1 END) AS under_way,
    count(CASE WHEN body IS NOT NULL AND NOT (${READY}) THEN 1 END) AS replayable,
    count(CASE WHEN status IN ('pending', 'dead') AND l.lease IS NULL THEN 1 END) AS dismissible`;

  const expected = d.rows('at int, kind text, resource text, erased text, event_time bigint');
  const come = `events WHERE subscriber = '' AND resource IN (${expected.resource}, ${expected.erased})
    AND event_time >= ${expected.event_time} AND kind = ${expected.kind}`;
  const missing = `SELECT ${expected.at} AS at ${expected.from} WHERE ${isNone(come)}`;
  const lane = d.rows('resource text');
  const ofOtherSites = inAll(`SELECT DISTINCT events.resource AS resource FROM ${lane.beside}events
    WHERE ${lane.is('events.resource')} AND subscriber = '' AND site_id NOT IN ($site, '')`);

  const firstSince = `SELECT min(seq) AS seq FROM (SELECT seq, received_at FROM events WHERE seq < $seq
    ORDER BY seq DESC LIMIT ${REACH}) s WHERE received_at >= $time`;

  const lowestLock = `SELECT min(((classid::bigint & 65535) << 32) | objid::bigint) AS seq FROM pg_locks
    WHERE locktype = 'advisory' AND classid::bigint >> 16 = ${PLACES} AND objsubid = 1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

  /** Where the event after which it begins is not there, it finds nothing. */
  const planOf = async (db: Db, { filter = {}, order = 'newest', after, limit, ...extent }: Search) => {
    const [direction, beyond] = order === 'newest' ? (['DESC', '<'] as const) : (['ASC', '>'] as const);
    const { reach = REACH, upTo = Number.MAX_SAFE_INTEGER } = extent;
    const { ids, resource, status, waiting, subscriber, newerThan } = filter;
    const params: Record<string, Value> = { reach, upTo, after, limit };
    const conditions = conditionsOf(d, filter, params);
    const keys = resource === undefined ? ['seq'] : ['event_time', 'seq'];
    const by = (table = '') => keys.map((key) => `${table}${key} ${direction}`).join(', ');
    // Where the stretch begins and ends is a condition of the subquery: rows outside would use up its limit.
    const inside = [
      after === undefined ? 'true' : `(${keys}) ${beyond} (SELECT ${keys} FROM events WHERE id = $after)`,
      'seq <= $up_to',
      newerThan === undefined ? 'true' : 'seq > $newer_than',
    ].join(' AND ');
    const from = (table: string, where = 'true') => {
      const candidates = `SELECT seq FROM ${table} WHERE ${where} AND ${inside} ORDER BY ${by()} LIMIT $reach`;
      const matching = [d.oneOf('e.seq', candidates), ...conditions].join(' AND ');
      const end = `SELECT id FROM events WHERE seq = (SELECT seq FROM (${candidates}) c LIMIT 1 OFFSET $reach - 1)`;
      return {
        params,
        order: by('e.'),
        /** selects from the events `e` that match, and their lanes `l` */
        matching: (what: string) => `SELECT ${what} FROM events e ${LANES} WHERE ${matching}`,
        /** the last event that the stretch reached, after which the next one goes on; undefined if there are no more */
        end: async () => (await db.all<{ id: EventId }>(end, params))[0]?.id,
      };
    };
    if (ids !== undefined) return from('events', d.among('id', 'ids'));
    if (resource !== undefined) {
      const names = subscriber === undefined ? await subscriberNames(db) : [subscriber];
      const parts = names.flatMap((name, index) => {
        const of = 's'.repeat(index + 1); // a name of a parameter for each
        params[of] = name;
        const own = `SELECT seq, event_time FROM events WHERE subscriber = $${of} AND resource = $resource`;
        const end = `AND ${inside} ORDER BY ${by()} LIMIT $reach`;
        return INDEXED.map((which) => `SELECT * FROM (${own} AND ${which} ${end}) p`);
      });
      return from(`(${parts.join(' UNION ALL ')}) c`);
    }
    if (status === 'dead') return from('events', "status = 'dead'");
    if (status === 'running') return from('(SELECT event AS seq FROM lanes WHERE lease IS NOT NULL) l');
    if (status === 'pending' || waiting !== undefined) {
      // A few pending events may be anywhere among millions, so that an index finds them; many are found soon in the order of seq.
      // Without the limit, SQLite reads all events in their order to merge the two parts.
      const of = subscriber === undefined ? 'true' : 'subscriber = $subscriber';
      const pending = `(SELECT seq FROM (SELECT seq FROM events WHERE ${of} AND ${READY} UNION ALL
        SELECT seq FROM events WHERE ${of} AND next_at IS NOT NULL) u LIMIT $reach) p`;
      const { few } = await one<{ few: number }>(db, `SELECT count(*) AS few FROM ${pending}`, params);
      if (few < reach) return from(pending);
    }
    return from('events');
  };

  return {
    subscriberNames,

    /** The events of one stretch, and the `after` of the next one (`next`): undefined if everything was searched. */
    async search(db: Db, search: Search) {
      const plan = await planOf(db, search);
      const sql = `${plan.matching(COLUMNS)} ORDER BY ${plan.order} LIMIT $limit`;
      const events = await eventsBy(db, sql, plan.params);
      return { events, next: events.length === search.limit ? events.at(-1)?.id : await plan.end() };
    },

    /** How many events of one stretch match, newest first, and what verbs would make of them: what is neither replayable nor under way is pruned. */
    async tallied(db: Db, { filter, after }: { filter: EventFilter; after: string | undefined }) {
      const plan = await planOf(db, { filter, after, limit: 0 });
      return { ...(await one<Tally>(db, plan.matching(tally), plan.params)), next: await plan.end() };
    },

    /** Of the next `limit` events with a higher seq than `after`, the notifications that match, in the order of receipt. */
    async receivedPage(db: Db, { filter, after: from, limit, upTo }: ReceivedQuery) {
      const params: Record<string, Value> = { from, upTo, limit };
      const where = ["e.subscriber = ''", `NOT ${IS_OWN}`, ...conditionsOf(d, filter, params)].join(' AND ');
      // The last row tells how far it looked, whether it matches or not.
      const sql = `SELECT e.seq, e.id, e.received_at, e.webhook_id, e.origin, e.body,
        CASE WHEN ${where} THEN 1 ELSE 0 END AS matches
        FROM (SELECT * FROM events WHERE seq > $from AND seq <= $up_to ORDER BY seq LIMIT $limit) e ${LANES} ORDER BY e.seq`;
      const rows = await db.all<Received & { readonly matches: number }>(sql, params);
      const list = rows.flatMap(({ matches, ...row }): Received[] => (matches === 1 ? [row] : []));
      const last: Receipt | undefined = rows.at(-1);
      return { list, last, next: rows.length === limit ? last?.seq : undefined };
    },

    /** Of some kinds of resources, those of which no event has come that is as new: each is looked up by its name, and by what stays of an erased one. */
    missing: (db: Db, { list }: { readonly list: readonly Expected[] }) =>
      db.each<{ readonly at: number }>(
        missing,
        list.map((one, at) => ({ ...one, at, erased: erasedName(one.resource) })),
      ),

    /** Of some resources, those that also have events of other sites. */
    ofOtherSites: (db: Db, { lanes, site }: { readonly lanes: readonly Lane[]; readonly site: string }) =>
      db.each<Lane>(ofOtherSites, lanes, { site }),

    firstSince: async (db: Db, query: { readonly seq: number; readonly time: number }) =>
      (await one<Partial<Receipt>>(db, firstSince, query)).seq,

    /**
     * The last seq up to which all events are committed: an event that commits later has a higher one.
     * On PostgreSQL, a transaction that inserts events holds a lock that names the last seq before its own.
     */
    async lastSeq(db: Db): Promise<number> {
      const { seq } = await one<{ seq: number }>(db, d.lastSeq);
      const lowest = d.hasLocks ? await one<{ seq: number | undefined }>(db, lowestLock) : undefined;
      return Math.min(seq, lowest?.seq ?? Number.POSITIVE_INFINITY);
    },
  };
}

type Tally = Readonly<Record<'events' | 'replayable' | 'underWay' | 'dismissible', number>>;

type ReceivedQuery = { readonly filter: EventFilter } & Readonly<Record<'after' | 'limit' | 'upTo', number>>;

/** The conditions of a filter on an event `e` with its lane `l`. It adds to the parameters. */
function conditionsOf(d: Dialect, filter: EventFilter, params: Record<string, Value>): string[] {
  const { kind = [], error = '' } = filter;
  Object.assign(params, filter, { kind: [kind].flat(), error: likeOf(error) });
  // An event without a time did not happen at any.
  const conditions: Readonly<Record<keyof EventFilter, string>> = {
    ids: d.among('e.id', 'ids'),
    kind: d.among('e.kind', 'kind'),
    origins: d.among('e.origin', 'origins'),
    site: 'e.site_id = $site',
    resource: 'e.resource = $resource',
    subscriber: 'e.subscriber = $subscriber',
    webhook: 'e.webhook_id = $webhook',
    since: 'e.event_time >= $since AND e.event_time <> 0',
    until: 'e.event_time < $until AND e.event_time <> 0',
    q: `(${d.contains('e.body', 'q')} OR e.request = $q)`,
    newerThan: 'e.seq > $newer_than',
    error: "e.last_error || '\n' LIKE $error ESCAPE '!'",
    status: filter.status === 'running' ? 'l.lease IS NOT NULL' : 'e.status = $status AND l.lease IS NULL',
    waiting: 'e.waiting = $waiting',
  };
  const asked = Object.entries(conditions).filter(([name]) => Reflect.get(filter, name) !== undefined);
  return asked.map(([, condition]) => condition);
}

/** A first line in which `*` stands for anything, as LIKE has it, and what may come after it. */
const likeOf = (line: string) => `${line.replaceAll(/[!%_]/g, '!$&').replaceAll('*', '%')}\n%`;

/**
 * The filter of a replay. Of pending events it takes those that failed, unless it says otherwise: events that asked to come back have
 * their times. It takes no reminders and ticks, unless it names their kind.
 */
export function toReplay(filter: EventFilter): EventFilter {
  const isOpen = filter.ids === undefined && filter.kind === undefined;
  const waiting = filter.waiting ?? (filter.status === 'pending' ? 'failed' : undefined);
  return { ...filter, waiting, origins: isOpen ? TOLD : undefined };
}

/**
 * The filter of a replay or dismissal. In an app with subscribers, it says whose events it means, by a name or by ids: what a search index
 * needs again is not to be mailed again. Events of a removed subscriber may be dismissed, but nobody would run them again.
 * @param whose the subscriber of the filter as people name it, `main` and `all` included; undefined if they do not
 * @throws KitError INPUT_INVALID that names the subscribers
 */
export async function bulkFilter(
  { queue }: { readonly queue: { subscribers(): Promise<readonly { readonly name: string }[]> } },
  verb: 'replay' | 'dismiss',
  filter: EventFilter,
  whose?: string,
): Promise<EventFilter> {
  const names = (await queue.subscribers()).map(({ name }) => name);
  const refused = (why: string) =>
    new KitError('INPUT_INVALID', `${why}: this database has ${names.join(', ') || 'none'}`);
  if (whose === undefined && !filter.ids && names.length > 0)
    throw refused('say whose events are meant, with subscriber main, all or a name');
  const usual = verb === 'replay' ? [''] : [];
  const meant = [...new Set(filter.ids?.map(subscriberOf) ?? usual)];
  const subscriber = whose === undefined && meant.length === 1 ? meant[0] : filter.subscriber;
  if (verb === 'dismiss') return { ...filter, subscriber };
  if (subscriber && !names.includes(subscriber))
    throw refused(`there is no subscriber ${subscriber}, so nothing would run its events`);
  return toReplay({ ...filter, subscriber });
}
