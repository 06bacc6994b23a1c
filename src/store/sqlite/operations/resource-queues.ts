import type { Database } from 'better-sqlite3';

/**
 * The queue of a resource: which of its events are ready, and whether one is running. Its row is in the table `lanes`;
 * the table keeps its former name, since migrations never change.
 */
export interface ResourceQueues {
  /** An event of this resource became ready. */
  open(resource: string, eventTime: number): void;
  /** Its running event ended. */
  free(resource: string): void;
}

export function resourceQueues(db: Database): ResourceQueues {
  const open = db.prepare(
    `INSERT INTO lanes (resource, head) VALUES (?, ?)
     ON CONFLICT (resource) DO UPDATE SET head = min(head, excluded.head)`,
  );
  const nextHead = db
    .prepare<[string], number>(
      `SELECT event_time FROM events INDEXED BY events_ready
       WHERE resource = +? AND status = 'pending' AND next_attempt_at IS NULL ORDER BY event_time LIMIT 1`,
    )
    .pluck();
  const close = db.prepare('DELETE FROM lanes WHERE resource = ?');
  const free = db.prepare(
    'UPDATE lanes SET head = ?, event = NULL, owner = NULL, lease_until = NULL, started_at = NULL WHERE resource = ?',
  );
  return {
    open: (resource, eventTime) => void open.run(resource, eventTime),
    free(resource) {
      const head = nextHead.get(resource);
      if (head === undefined) close.run(resource);
      else free.run(head, resource);
    },
  };
}
