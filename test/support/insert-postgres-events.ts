import type { Session } from '../../src/store/postgres/session.ts';

/**
 * Puts events straight into the tables of a PostgreSQL database; see `insertEvents`.
 * @param select gives `event, event_time, kind, resource, site_id, received_at, status, next_attempt_at, body` of each; the
 *   digest is that of its number
 * @param taken of these are in work; later ones are in the ledger only
 */
export async function insertPostgresEvents(session: Session, select: string, taken: number): Promise<void> {
  const statements = `
    CREATE TABLE given AS ${select};
    INSERT INTO hookkit.ledger (event, event_time, digest, kind, webhook_id, site_id, resource, received_at)
      SELECT event, event_time, sha256(event::text::bytea), kind, 'hook0001', site_id, resource, received_at FROM given
      ORDER BY event;
    INSERT INTO hookkit.bodies (event, received_at, body) SELECT event, received_at, body FROM given
      WHERE body IS NOT NULL ORDER BY event;
    DELETE FROM given WHERE event > ${taken};
    INSERT INTO hookkit.work (event, kind, resource, event_time, attempts, interrupted, replays, next_attempt_at)
      SELECT event, kind, resource, event_time, 0, 0, 0, next_attempt_at FROM given
      WHERE status IN ('pending', 'running');
    INSERT INTO hookkit.lanes (resource, head, event, owner, lease_until, started_at)
      SELECT DISTINCT ON (resource) resource, event_time, event, 'me', 1000, 0 FROM given
      WHERE status = 'running' ORDER BY resource, event_time, event;
    INSERT INTO hookkit.lanes (resource, head)
      SELECT resource, min(event_time) FROM given WHERE status = 'pending' AND next_attempt_at IS NULL GROUP BY resource
      ON CONFLICT DO NOTHING;
    INSERT INTO hookkit.results (event, resource, event_time, status, attempts, interrupted, replays, late, handled_at, has_body)
      SELECT event, resource, event_time, status, 1, 0, 0, false, received_at + 10, body IS NOT NULL FROM given
      WHERE status NOT IN ('pending', 'running') ORDER BY event;
    INSERT INTO hookkit.kinds (kind, event) SELECT kind, event FROM given;
    INSERT INTO hookkit.tallies (kind, status, events)
      SELECT kind, CASE status WHEN 'running' THEN 'pending' ELSE status END, count(*) FROM given GROUP BY 1, 2;
    DELETE FROM hookkit.taken;
    INSERT INTO hookkit.taken VALUES (${taken});
    SELECT setval('hookkit.ledger_event_seq', (SELECT max(event) FROM hookkit.ledger));
    DROP TABLE given;
  `;
  // One by one: the answer to all of them together may take longer than is waited for one.
  for (const statement of statements.split(';'))
    await session.script(`SET LOCAL statement_timeout = 0; ${statement}`);
}
