import type { Db, Value } from '../dialect.ts';
import type { Quarantined } from '../stored.ts';
import type { QuarantinePage, QuarantineSummary, WaitingWebhook } from './types.ts';

const PAGE = 500;

export function quarantineReads() {
  const columns =
    'seq, id, kind, webhook_id, site_id, resource, event_time, received_at, body, source, deliveries, token';
  const largest = `SELECT webhook_id, count(*) AS notifications, min(received_at) AS first_at, max(received_at) AS last_at FROM quarantine
    GROUP BY webhook_id ORDER BY notifications DESC, webhook_id LIMIT ${PAGE}`;
  const waitingWebhooks = async (db: Db) => db.all<WaitingWebhook>(largest);

  const quarantineSize = async (
    db: Db,
    { webhook }: { readonly webhook: string | undefined },
  ): Promise<number> => {
    const [row] =
      webhook === undefined
        ? await db.all<{ n: number }>('SELECT count(*) AS n FROM quarantine')
        : await db.all<{ n: number }>('SELECT count(*) AS n FROM quarantine WHERE webhook_id = $webhook', {
            webhook,
          });
    return Number(row?.n ?? 0);
  };

  return {
    quarantineSize,
    /** The webhooks that entries name, up to 500 with the most entries first. */
    waitingWebhooks: (db: Db, _: object) => waitingWebhooks(db),

    /** Entries in the order of arrival. */
    async quarantined(db: Db, { webhook, after = 0, limit = PAGE }: QuarantinePage): Promise<Quarantined[]> {
      const params: Record<string, Value> = { after, limit };
      if (webhook !== undefined) params.webhook = webhook;
      const ofOne = webhook === undefined ? '' : 'AND webhook_id = $webhook';
      const sql = `SELECT ${columns} FROM quarantine WHERE seq > $after ${ofOne} ORDER BY seq LIMIT $limit`;
      return db.all<Quarantined>(sql, params);
    },

    async quarantineSummary(db: Db, { newest }: { readonly newest: number }): Promise<QuarantineSummary> {
      const rows = await db.all<Quarantined>(
        `SELECT ${columns} FROM quarantine ORDER BY seq DESC LIMIT $newest`,
        {
          newest,
        },
      );
      const webhooks = await waitingWebhooks(db);
      return {
        total: await quarantineSize(db, { webhook: undefined }),
        webhooks: webhooks.sort((one, other) => other.lastAt - one.lastAt),
        newest: rows.map(({ token: _, seq: __, ...entry }) => entry),
      };
    },
  };
}
