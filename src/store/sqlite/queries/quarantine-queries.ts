import type { Database, Statement } from 'better-sqlite3';
import type { QuarantineSummary, WaitingWebhook } from '../../event-search.ts';
import type { Quarantined, QuarantinePage, Unproven } from '../../event-store.ts';
import { PAGE, PAGE_BYTES } from '../../semantics/quarantine-room.ts';

/** At most so many webhooks are listed: strangers can make their names up. */
const MOST_WEBHOOKS = 500;

/** Of the entry of the row: all its deliveries, the first included. */
const DELIVERIES =
  '1 + coalesce((SELECT repeats FROM quarantine_repeats WHERE id = quarantine.id), 0) AS deliveries';

const LABELS = `id AS place, bytes, ${DELIVERIES}, source, received_at AS receivedAt, event_time AS eventTime, digest, kind,
  webhook_id AS webhookId, site_id AS siteId, resource, body`;

/** Reads no further than a page goes: each entry may take megabytes. */
function pageOf<R extends Pick<Unproven, 'bytes'>>(statement: Statement<[object], R>, params: object): R[] {
  const rows: R[] = [];
  let left = PAGE_BYTES;
  for (const row of statement.iterate(params)) {
    rows.push(row);
    left -= row.bytes;
    if (left <= 0) break;
  }
  return rows;
}

function pages<R extends Unproven>(db: Database, columns: string): (page: QuarantinePage) => R[] {
  const read = (where: string) =>
    db.prepare<[object], R>(
      `SELECT ${columns} FROM quarantine WHERE ${where} AND id > :after ORDER BY id LIMIT ${PAGE}`,
    );
  const [ofWebhook, ofAll] = [read('webhook_id = :webhook'), read('TRUE')];
  return ({ webhook, after = 0 }) =>
    webhook === undefined ? pageOf(ofAll, { after }) : pageOf(ofWebhook, { webhook, after });
}

/** Entries in the order of their arrival, with their tokens, which verify them once their secret is known. */
export function quarantined(db: Database): (page: QuarantinePage) => Quarantined[] {
  return pages<Quarantined>(db, `${LABELS}, token`);
}

export function unproven(db: Database): (page: QuarantinePage) => Unproven[] {
  return pages<Unproven>(db, LABELS);
}

export function waitingWebhooks(db: Database): (after: string | null) => WaitingWebhook[] {
  const read = db.prepare<[{ after: string | null }], WaitingWebhook>(
    `SELECT webhook_id AS webhookId, entries AS notifications FROM quarantine_sums
     WHERE what = 'webhook' AND (:after IS NULL OR webhook_id > :after) ORDER BY webhook_id LIMIT ${MOST_WEBHOOKS}`,
  );
  return (after) => read.all({ after });
}

export function quarantineSize(db: Database): (webhookId: string | null) => number {
  const read = db
    .prepare<[string, string], number>(
      'SELECT entries FROM quarantine_sums WHERE what = ? AND webhook_id = ?',
    )
    .pluck();
  return (webhookId) => (webhookId === null ? read.get('all', '') : read.get('webhook', webhookId)) ?? 0;
}

type Webhook = QuarantineSummary['webhooks'][number];
type Newest = QuarantineSummary['newest'][number] & Pick<Unproven, 'bytes'>;

export function quarantineSummary(db: Database): (newest: number) => QuarantineSummary {
  const end = (order: 'ASC' | 'DESC') =>
    `(SELECT received_at FROM quarantine WHERE webhook_id = sums.webhook_id ORDER BY id ${order} LIMIT 1)`;
  const webhooks = db.prepare<[], Webhook>(
    `SELECT webhook_id AS webhookId, entries AS notifications, ${end('ASC')} AS firstAt, ${end('DESC')} AS lastAt
     FROM (SELECT * FROM quarantine_sums WHERE what = 'webhook' ORDER BY bytes DESC LIMIT ${MOST_WEBHOOKS}) AS sums
     ORDER BY lastAt DESC`,
  );
  const entries = db.prepare<[object], Newest>(
    `SELECT source, received_at AS receivedAt, event_time AS eventTime, kind, webhook_id AS webhookId,
       site_id AS siteId, resource, body, bytes, ${DELIVERIES}
     FROM quarantine ORDER BY id DESC LIMIT :newest`,
  );
  const size = quarantineSize(db);
  return (newest) => ({ total: size(null), webhooks: webhooks.all(), newest: pageOf(entries, { newest }) });
}
