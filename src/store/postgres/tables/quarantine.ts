import type { Holder, QuarantineReads, QuarantineRow, QuarantineTables, Share, Sum } from '../../driver.ts';
import type { WaitingWebhook } from '../../event-search.ts';
import type { Quarantined, Unproven } from '../../event-store.ts';
import { columns, decoded, type Session, toText, toTextOrNull } from '../session.ts';

const LABELS = `source, received_at AS "receivedAt", event_time AS "eventTime", digest, kind,
  webhook_id AS "webhookId", site_id AS "siteId", resource, body`;
/** Of an entry: all its deliveries, the first included. */
const UNPROVEN = `id AS place, bytes, 1 + repeats AS deliveries, ${LABELS}`;

/** How many rows of a stream one statement reads: each may have megabytes. */
const PAGE = 50;
/** Later than every place. */
const NO_END = Number.MAX_SAFE_INTEGER;

/** The keys of rows of quarantine_sums: what all hold, a webhook, a network, or a share. */
function keysOf(of: readonly Partial<Share>[]): unknown[][] {
  const whatOf = ({ webhookId, network }: Partial<Share>) => {
    if (webhookId !== undefined) return network === undefined ? 'webhook' : 'share';
    return network === undefined ? 'all' : 'network';
  };
  return columns(
    of,
    whatOf,
    ({ webhookId }) => toText(webhookId ?? ''),
    ({ network }) => network ?? '',
  );
}

export function quarantineReads(session: Session): QuarantineReads {
  /** Rows behind a place, a page after the other. */
  async function* stream<R extends Unproven>(after: number, readPage: (after: number) => Promise<R[]>) {
    for (let place: number | undefined = after; place !== undefined; ) {
      const rows: R[] = await readPage(place);
      yield* rows.map(decoded);
      place = rows.length < PAGE ? undefined : rows.at(-1)?.place;
    }
  }
  const pages =
    <R extends Unproven>(of: string) =>
    (after: number, webhook: string | undefined) =>
      stream<R>(after, (place) =>
        webhook === undefined
          ? session.rows(`SELECT ${of} FROM hookkit.quarantine WHERE id > $1 ORDER BY id LIMIT ${PAGE}`, [
              place,
            ])
          : // In the order of the index that has the webhook's entries together; by id, it might read all of them.
            session.rows(
              `SELECT ${of} FROM hookkit.quarantine WHERE (webhook_id, id) > ($1, $2) AND webhook_id <= $1
               ORDER BY webhook_id, id LIMIT ${PAGE}`,
              [toText(webhook), place],
            ),
      );
  return {
    sums: (of) =>
      session.rows<Sum>(
        `SELECT coalesce(entries, 0) AS entries, coalesce(bytes, 0) AS bytes
         FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS asked (what, webhook_id, network, number)
         LEFT JOIN hookkit.quarantine_sums USING (what, webhook_id, network) ORDER BY number`,
        keysOf(of),
      ),
    async largest(what, { least, limit }, { webhookId, network } = {}) {
      const name = what === 'webhookId' ? 'webhook_id' : 'network';
      const [where, within] =
        webhookId !== undefined
          ? ["what = 'share' AND webhook_id = $3", toText(webhookId)]
          : network !== undefined
            ? ["what = 'share' AND network = $3", network]
            : ['what = $3', what === 'webhookId' ? 'webhook' : 'network'];
      const rows = await session.rows<Holder>(
        `SELECT ${name} AS name, bytes FROM hookkit.quarantine_sums WHERE ${where} AND bytes >= $1
         ORDER BY bytes DESC, webhook_id DESC, network DESC LIMIT $2`,
        [Math.ceil(least), limit, within],
      );
      return rows.map(decoded);
    },
    async webhooksAfter(after, limit) {
      const rows = await session.rows<WaitingWebhook>(
        `SELECT webhook_id AS "webhookId", entries AS notifications FROM hookkit.quarantine_sums
         WHERE what = 'webhook' AND ($1::text IS NULL OR webhook_id > $1) ORDER BY webhook_id LIMIT $2`,
        [toTextOrNull(after), limit],
      );
      return rows.map(decoded);
    },
    async arrivals(webhooks) {
      const end = (from: string, order: 'ASC' | 'DESC') =>
        `(SELECT CASE webhook_id WHEN asked.webhook THEN received_at END FROM hookkit.quarantine
          WHERE (webhook_id, id) ${from} ORDER BY webhook_id ${order}, id ${order} LIMIT 1)`;
      const rows = await session.rows<{ firstAt: number | null; lastAt: number | null }>(
        `SELECT ${end('>= (asked.webhook, 0)', 'ASC')} AS "firstAt",
           ${end(`<= (asked.webhook, ${NO_END})`, 'DESC')} AS "lastAt"
         FROM unnest($1::text[]) WITH ORDINALITY AS asked (webhook, number) ORDER BY number`,
        [webhooks.map(toText)],
      );
      return rows.map(({ firstAt, lastAt }) =>
        firstAt === null || lastAt === null ? undefined : { firstAt, lastAt },
      );
    },
    quarantined: pages<Quarantined>(`${UNPROVEN}, token`),
    unproven: pages<Unproven>(UNPROVEN),
    unprovenBackwards: () =>
      stream<Unproven>(NO_END, (place) =>
        session.rows(
          `SELECT ${UNPROVEN} FROM hookkit.quarantine WHERE id < $1 ORDER BY id DESC LIMIT ${PAGE}`,
          [place],
        ),
      ),
  };
}

/** One change of the quarantine at a time: each changes the sum of all, and what it does depends on the sums. */
const CHANGE_ALONE = "SELECT FROM hookkit.quarantine_sums WHERE what = 'all' FOR UPDATE";

export function quarantineTables(session: Session): QuarantineTables {
  return {
    ...quarantineReads(session),
    async entryOf(key) {
      await session.rows(CHANGE_ALONE);
      const [row] = await session.rows<{ id: number }>(
        'SELECT id FROM hookkit.quarantine WHERE token_digest = $1',
        [key],
      );
      return row?.id;
    },
    async addEntry(row) {
      const texts = [row.source, row.kind, row.siteId, row.resource, row.token, row.body].map(toText);
      await session.rows(
        `INSERT INTO hookkit.quarantine (token_digest, webhook_id, network, bytes, received_at, event_time, digest,
           source, kind, site_id, resource, token, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
        [
          ...[row.tokenDigest, toText(row.webhookId), row.network, row.bytes],
          ...[row.receivedAt, row.eventTime, row.digest, ...texts],
        ],
      );
    },
    async addEntryRepeat(place, at) {
      await session.rows(
        'UPDATE hookkit.quarantine SET repeats = repeats + 1, last_at = greatest(last_at, $2) WHERE id = $1',
        [place, at],
      );
    },
    async takeOut(key) {
      await session.rows(CHANGE_ALONE);
      const [row] = await session.rows<TakenOut>(
        `DELETE FROM hookkit.quarantine WHERE token_digest = $1
         RETURNING network, bytes, repeats, last_at AS "lastAt", ${LABELS}`,
        [key],
      );
      if (!row) return undefined;
      const { repeats, lastAt, ...entry } = decoded(row);
      return { ...entry, repeated: lastAt === null ? undefined : { repeats, lastAt } };
    },
    async removeLast({ webhookId, network }) {
      const [row] = await session.rows<{ bytes: number }>(
        `DELETE FROM hookkit.quarantine WHERE webhook_id = $1 AND network = $2 AND id = (
           SELECT id FROM hookkit.quarantine WHERE (webhook_id, network, id) <= ($1, $2, ${NO_END})
           ORDER BY webhook_id DESC, network DESC, id DESC LIMIT 1)
         RETURNING bytes`,
        [toText(webhookId), network],
      );
      return row?.bytes;
    },
    async addToSums({ webhookId, network, entries, bytes }) {
      await session.rows(
        `WITH changed (what, webhook_id, network) AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[])),
         gone AS (
           DELETE FROM hookkit.quarantine_sums AS sum USING changed
           WHERE sum.what = changed.what AND sum.what <> 'all' AND sum.webhook_id = changed.webhook_id
             AND sum.network = changed.network AND sum.entries + $4::bigint <= 0
           RETURNING sum.what)
         INSERT INTO hookkit.quarantine_sums (what, webhook_id, network, entries, bytes)
         SELECT changed.*, $4::bigint, $5::bigint FROM changed WHERE changed.what NOT IN (SELECT what FROM gone)
         ON CONFLICT (what, webhook_id, network) DO UPDATE
           SET entries = quarantine_sums.entries + excluded.entries, bytes = quarantine_sums.bytes + excluded.bytes`,
        [...keysOf([{}, { webhookId }, { network }, { webhookId, network }]), entries, bytes],
      );
    },
    async addLost(entries) {
      await session.rows("UPDATE hookkit.quarantine_sums SET entries = entries + $1 WHERE what = 'lost'", [
        entries,
      ]);
    },
  };
}

type TakenOut = Omit<QuarantineRow, 'token' | 'tokenDigest'> & {
  readonly repeats: number;
  readonly lastAt: number | null;
};
