import { type Db, type Dialect, one } from '../../dialect.ts';
import type { Expected } from '../../queue/lists/search.ts';
import { IS_OURS } from '../../schema.ts';
import type { Quarantined } from '../../stored.ts';

/** Of which webhook, media or channel, or site entries claim to be; an absent member does not restrict. */
export type Claimed = Partial<Readonly<Record<'webhook' | 'resource' | 'site', string | undefined>>>;

/** Whether an entry claims to be of them. */
export const IS_CLAIMED = `webhook_id = coalesce($webhook, webhook_id) AND resource = coalesce($resource, resource)
  AND site_id = coalesce($site, site_id)`;

/** Entries that name a webhook, if there is one, with a higher seq than `after`; 500 without a limit. */
type Page = Pick<Claimed, 'webhook'> & Partial<Record<'after' | 'limit', number | undefined>>;

/** How many bytes the entries of a network or webhook take in quarantine; without both, of all. */
type Share = Partial<Record<'network' | 'webhookId', string>> & { bytes: number };

/** How many entries of the quarantine name a webhook. */
type Waiting = Pick<Quarantined, 'webhookId'> & Record<'notifications' | 'firstAt' | 'lastAt', number>;

const PAGE = 500;

/** The lists of the quarantine. */
export function quarantineReads(d: Dialect) {
  const columns =
    'id, kind, webhook_id, site_id, resource, event_time, received_at, body, source, deliveries';
  const newestFirst = `SELECT ${columns} FROM quarantine ORDER BY seq DESC LIMIT $newest`;
  const largest = `SELECT webhook_id, count(*) AS notifications, min(received_at) AS first_at, max(received_at) AS last_at
    FROM quarantine GROUP BY webhook_id ORDER BY notifications DESC, webhook_id LIMIT ${PAGE}`;
  const sums = `SELECT coalesce(sum(bytes), 0) AS bytes,
    (SELECT coalesce(sum(bytes), 0) FROM quarantine WHERE ${IS_OURS}) AS ours FROM quarantine`;
  const sharesBy = (column: string, names: string) =>
    `SELECT ${names}, sum(bytes) AS bytes FROM quarantine GROUP BY ${column} HAVING sum(bytes) >= $least`;
  const shares = `${sharesBy('network', 'network, NULL AS webhook_id')}
    UNION ALL ${sharesBy('webhook_id', 'NULL, webhook_id')} ORDER BY bytes DESC`;

  const claiming = `SELECT kind, resource, max(event_time) AS event_time FROM quarantine
    WHERE ${d.among('resource', 'resources')} GROUP BY kind, resource`;

  const whose = (webhook: string | undefined) => (webhook === undefined ? 'true' : 'webhook_id = $webhook');
  const counted = `SELECT count(*) AS n FROM quarantine WHERE ${IS_CLAIMED}`;
  const size = async (db: Db, which: Claimed = {}) => (await one<{ n: number }>(db, counted, which)).n;

  return {
    /** How many entries wait. */
    size,

    /** Entries in the order of arrival, with their tokens; none after the last. */
    async entries(db: Db, { webhook, after = 0, limit = PAGE }: Page = {}): Promise<Quarantined[]> {
      const sql = `SELECT seq, token, ${columns} FROM quarantine
        WHERE seq > $after AND ${whose(webhook)} ORDER BY seq LIMIT $limit`;
      return db.all<Quarantined>(sql, { webhook, after, limit });
    },

    /** How many of some expected notifications entries claim to be. One look at all entries: no index has their resources. */
    async waitingOf(db: Db, { list }: { readonly list: readonly Expected[] }): Promise<number> {
      const entries = await db.all<Expected>(claiming, { resources: list.map(({ resource }) => resource) });
      const waits = ({ kind, resource, eventTime }: Expected) =>
        entries.some((one) => one.kind === kind && one.resource === resource && one.eventTime >= eventTime);
      return list.filter(waits).length;
    },

    /** The bytes of all entries, of those of webhooks with a stored secret, and of networks and webhooks with `least`: the largest first. */
    async shares(db: Db, { least }: { readonly least: number }) {
      const held = await one<{ bytes: number; ours: number }>(db, sums);
      return { ...held, shares: await db.all<Share>(shares, { least }) };
    },

    /** The newest entries of a network or webhook, or of all, with a seq lower than `before`. `isOurs`: its webhook has a stored secret, live or not. */
    async newestOf(db: Db, share: Share & { readonly before: number; readonly limit: number }) {
      const { network, webhookId: webhook, ...page } = share;
      const which = network === undefined ? whose(webhook) : 'network = $network';
      const sql = `SELECT seq, bytes, CASE WHEN ${IS_OURS} THEN 1 ELSE 0 END AS is_ours FROM quarantine
        WHERE ${which} AND seq < $before ORDER BY seq DESC LIMIT $limit`;
      return db.all<Record<'seq' | 'bytes' | 'isOurs', number>>(sql, { network, webhook, ...page });
    },

    /** How many entries wait for each webhook, and the newest of them. */
    async summary(db: Db, page: { readonly newest: number }) {
      const newest = await db.all<Omit<Quarantined, 'seq' | 'token'>>(newestFirst, page);
      return { total: await size(db), webhooks: await db.all<Waiting>(largest), newest };
    },
  };
}
