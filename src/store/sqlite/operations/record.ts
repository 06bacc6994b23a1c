import type { Database } from 'better-sqlite3';
import { eventId } from '../../event-id.ts';
import type { Recorded, VerifiedNotification } from '../../event-store.ts';
import { resourceQueues } from './resource-queues.ts';

type Input = VerifiedNotification & { readonly receivedAt: number };

export function record(db: Database): (input: Input) => Recorded {
  const queues = resourceQueues(db);
  const insert = db
    .prepare<[object], number>(
      `INSERT INTO events (event_time, digest, kind, webhook_id, site_id, resource, received_at, last_delivery_at, body)
       VALUES (:eventTime, :digest, :kind, :webhookId, :siteId, :resource, :receivedAt, :receivedAt, :body)
       ON CONFLICT (event_time, digest) DO UPDATE
         SET deliveries = deliveries + 1, last_delivery_at = max(last_delivery_at, excluded.last_delivery_at)
       RETURNING deliveries`,
    )
    .pluck();
  return (input) => {
    const digest = Buffer.from(input.digest);
    const id = eventId(input.eventTime, digest);
    if (insert.get({ ...input, digest }) !== 1) return { status: 'duplicate', id };
    queues.open(input.resource, input.eventTime);
    return { status: 'accepted', id };
  };
}
