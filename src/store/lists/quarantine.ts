import type { Db } from '../dialect.ts';
import type { Quarantined } from '../stored.ts';
import type { QuarantinePage, QuarantineSummary, WaitingWebhook } from './types.ts';

const PAGE = 500;

export function quarantineReads() {
  const columns =
    'seq, id, kind, webhook_id, site_id, resource, event_time, received_at, body, source, deliveries, token';
  const largest = `SELECT webhook_id, count(*) AS notifications, min(received_at) AS first_at, max(received_at) AS last_at
    FROM quarantine GROUP BY webhook_id ORDER BY notifications DESC, webhook_id LIMIT ${PAGE}`;
  /** The webhooks that entries name, up to 500 with the most entries first. */
  const waitingWebhooks = async (db: Db, _?: object) => db.all<WaitingWebhook>(largest);

  const whose = (webhook: string | undefined) => (webhook === undefined ? 'true' : 'webhook_id = $webhook');
  const quarantineSize = async (db: Db, { webhook }: { webhook: string | undefined }): Promise<number> => {
    const sql = `SELECT count(*) AS n FROM quarantine WHERE ${whose(webhook)}`;
    return Number((await db.all<{ n: number }>(sql, { webhook }))[0]?.n ?? 0);
  };

  return {
    quarantineSize,
    waitingWebhooks,

    /** Entries in the order of arrival. */
    async quarantined(db: Db, { webhook, after = 0, limit = PAGE }: QuarantinePage): Promise<Quarantined[]> {
      const sql = `SELECT ${columns} FROM quarantine WHERE seq > $after AND ${whose(webhook)} ORDER BY seq LIMIT $limit`;
      return db.all<Quarantined>(sql, { webhook, after, limit });
    },

    async quarantineSummary(db: Db, page: { readonly newest: number }): Promise<QuarantineSummary> {
      const newestFirst = `SELECT ${columns} FROM quarantine ORDER BY seq DESC LIMIT $newest`;
      const rows = await db.all<Quarantined>(newestFirst, page);
      const webhooks = (await waitingWebhooks(db)).sort((one, other) => other.lastAt - one.lastAt);
      const newest = rows.map(({ token: _, seq: __, ...entry }) => entry);
      return { total: await quarantineSize(db, { webhook: undefined }), webhooks, newest };
    },
  };
}
