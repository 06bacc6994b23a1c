import type { Database } from 'better-sqlite3';
import type { QuarantineSummary } from '../../event-search.ts';

type Webhook = QuarantineSummary['webhooks'][number];
type Entry = QuarantineSummary['newest'][number];

export function quarantineSummary(db: Database): (newest: number) => QuarantineSummary {
  const webhooks = db.prepare<[], Webhook>(
    `SELECT webhook_id AS webhookId, count(*) AS notifications, min(received_at) AS firstAt, max(received_at) AS lastAt
     FROM quarantine GROUP BY webhook_id ORDER BY lastAt DESC`,
  );
  const entries = db.prepare<[number], Entry>(
    `SELECT source, received_at AS receivedAt, event_time AS eventTime, kind, webhook_id AS webhookId,
       site_id AS siteId, resource, body
     FROM quarantine ORDER BY id DESC LIMIT ?`,
  );
  return (newest) => ({ webhooks: webhooks.all(), newest: entries.all(newest) });
}
