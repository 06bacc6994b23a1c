import { type Db, one } from '../dialect.ts';
import type { Quarantined } from '../stored.ts';
import type { QuarantinePage, QuarantineSummary, WaitingWebhook } from './types.ts';

const PAGE = 500;

export function quarantineReads() {
  const columns =
    'id, kind, webhook_id, site_id, resource, event_time, received_at, body, source, deliveries';
  const newestFirst = `SELECT ${columns} FROM quarantine ORDER BY seq DESC LIMIT $newest`;
  const largest = `SELECT webhook_id, count(*) AS notifications, min(received_at) AS first_at, max(received_at) AS last_at
    FROM quarantine GROUP BY webhook_id ORDER BY notifications DESC, webhook_id LIMIT ${PAGE}`;
  /** The webhooks that entries name, up to 500 with the most entries first. */
  const waitingWebhooks = async (db: Db, _?: object) => db.all<WaitingWebhook>(largest);

  const whose = (webhook: string | undefined) => (webhook === undefined ? 'true' : 'webhook_id = $webhook');
  const quarantineSize = async (db: Db, { webhook }: { webhook?: string | undefined }): Promise<number> => {
    const sql = `SELECT count(*) AS n FROM quarantine WHERE ${whose(webhook)}`;
    return (await one<{ n: number }>(db, sql, { webhook })).n;
  };

  return {
    quarantineSize,
    waitingWebhooks,

    /** Entries in the order of arrival. */
    async quarantined(db: Db, { webhook, after = 0, limit = PAGE }: QuarantinePage): Promise<Quarantined[]> {
      const where = `seq > $after AND ${whose(webhook)}`;
      const sql = `SELECT seq, token, ${columns} FROM quarantine WHERE ${where} ORDER BY seq LIMIT $limit`;
      return db.all<Quarantined>(sql, { webhook, after, limit });
    },

    async quarantineSummary(db: Db, page: { readonly newest: number }): Promise<QuarantineSummary> {
      const webhooks = (await waitingWebhooks(db)).sort((one, other) => other.lastAt - one.lastAt);
      return { total: await quarantineSize(db, {}), webhooks, newest: await db.all(newestFirst, page) };
    },
  };
}
