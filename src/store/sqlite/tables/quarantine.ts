import type { Database } from 'better-sqlite3';
import type { Holder, QuarantineReads, QuarantineRow, QuarantineTables, Share, Sum } from '../../driver.ts';
import type { WaitingWebhook } from '../../event-search.ts';
import type { Quarantined, Unproven } from '../../event-store.ts';

/** Of the entry of the row: all its deliveries, the first included. */
const DELIVERIES =
  '1 + coalesce((SELECT repeats FROM quarantine_repeats WHERE id = quarantine.id), 0) AS deliveries';

const LABELS = `source, received_at AS receivedAt, event_time AS eventTime, digest, kind,
  webhook_id AS webhookId, site_id AS siteId, resource, body`;

/** The rows of quarantine_sums: what all hold, a webhook, a network, or a share. */
type Key = [what: string, webhookId: string, network: string];

function keyOf({ webhookId, network }: Partial<Share>): Key {
  const ofOne = webhookId === undefined ? 'network' : 'webhook';
  const isOfOne = webhookId === undefined || network === undefined;
  const isOfAll = webhookId === undefined && network === undefined;
  return [isOfAll ? 'all' : isOfOne ? ofOne : 'share', webhookId ?? '', network ?? ''];
}

export function quarantineReads(db: Database): QuarantineReads {
  const sum = db.prepare<Key, Sum>(
    'SELECT entries, bytes FROM quarantine_sums WHERE what = +? AND webhook_id = ? AND network = ?',
  );
  const largest = (name: string, index: string, where: string) =>
    db.prepare<[string, number, number], Holder>(
      `SELECT ${name} AS name, bytes FROM quarantine_sums INDEXED BY ${index}
       WHERE ${where} AND bytes >= +? ORDER BY bytes DESC LIMIT +?`,
    );
  const ofAll = largest("iif(what = 'webhook', webhook_id, network)", 'quarantine_largest', 'what = +?');
  const ofWebhook = largest('network', 'quarantine_largest_of_webhook', "what = 'share' AND webhook_id = +?");
  const ofNetwork = largest('webhook_id', 'quarantine_largest_of_network', "what = 'share' AND network = +?");
  const webhooks = db.prepare<[object], WaitingWebhook>(
    `SELECT webhook_id AS webhookId, entries AS notifications FROM quarantine_sums
     WHERE what = 'webhook' AND (:after IS NULL OR webhook_id > :after) ORDER BY webhook_id LIMIT +:limit`,
  );
  const end = (order: 'ASC' | 'DESC') =>
    db
      .prepare<[string], number>(
        `SELECT received_at FROM quarantine WHERE webhook_id = ? ORDER BY id ${order} LIMIT 1`,
      )
      .pluck();
  const [first, last] = [end('ASC'), end('DESC')];
  const entries = <R extends Unproven>(columns: string, where: string) =>
    db.prepare<[object], R>(`SELECT id AS place, bytes, ${DELIVERIES}, ${columns} FROM quarantine ${where}`);
  const pages = <R extends Unproven>(columns: string) => {
    const all = entries<R>(columns, 'WHERE id > :after ORDER BY id');
    const one = entries<R>(columns, 'WHERE webhook_id = :webhook AND id > :after ORDER BY id');
    return (after: number, webhook: string | undefined) =>
      webhook === undefined ? all.iterate({ after }) : one.iterate({ after, webhook });
  };
  const backwards = entries<Unproven>(LABELS, 'ORDER BY id DESC');
  return {
    sums: (of) => of.map((one) => sum.get(...keyOf(one)) ?? { entries: 0, bytes: 0 }),
    largest(what, { least, limit }, { webhookId, network } = {}) {
      if (webhookId !== undefined) return ofWebhook.all(webhookId, least, limit);
      if (network !== undefined) return ofNetwork.all(network, least, limit);
      return ofAll.all(what === 'webhookId' ? 'webhook' : 'network', least, limit);
    },
    webhooksAfter: (after, limit) => webhooks.all({ after: after ?? null, limit }),
    arrivals: (asked) =>
      asked.map((webhook) => {
        const [firstAt, lastAt] = [first.get(webhook), last.get(webhook)];
        return firstAt === undefined || lastAt === undefined ? undefined : { firstAt, lastAt };
      }),
    quarantined: pages<Quarantined>(`${LABELS}, token`),
    unproven: pages<Unproven>(LABELS),
    unprovenBackwards: () => backwards.iterate({}),
  };
}

export function quarantineTables(db: Database): QuarantineTables {
  const known = db.prepare<[Buffer], number>('SELECT id FROM quarantine WHERE token_digest = ?').pluck();
  const insert = db.prepare(
    `INSERT INTO quarantine (token_digest, webhook_id, network, bytes, source, received_at, event_time, digest, kind,
       site_id, resource, token, body)
     VALUES (:tokenDigest, :webhookId, :network, :bytes, :source, :receivedAt, :eventTime, :digest, :kind,
       :siteId, :resource, :token, :body)`,
  );
  const repeat = db.prepare(
    `INSERT INTO quarantine_repeats (id, repeats, last_at) VALUES (?, 1, ?)
     ON CONFLICT (id) DO UPDATE SET repeats = repeats + 1, last_at = max(last_at, excluded.last_at)`,
  );
  const repeatsOf = db.prepare<[Buffer], { readonly repeats: number; readonly lastAt: number }>(
    `SELECT repeats, last_at AS lastAt FROM quarantine_repeats
     WHERE id = (SELECT id FROM quarantine WHERE token_digest = ?)`,
  );
  const takeOut = db.prepare<[Buffer], Omit<QuarantineRow, 'token' | 'tokenDigest'>>(
    `DELETE FROM quarantine WHERE token_digest = ? RETURNING network, bytes, ${LABELS}`,
  );
  const removeLast = db
    .prepare<[string, string], number>(
      `DELETE FROM quarantine WHERE id = (SELECT max(id) FROM quarantine WHERE webhook_id = +? AND network = +?)
       RETURNING bytes`,
    )
    .pluck();
  const addToSums = db.prepare(
    `INSERT INTO quarantine_sums (what, webhook_id, network, entries, bytes) VALUES
       ('all', '', '', :entries, :bytes),
       ('webhook', :webhookId, '', :entries, :bytes),
       ('network', '', :network, :entries, :bytes),
       ('share', :webhookId, :network, :entries, :bytes)
     ON CONFLICT DO UPDATE SET entries = entries + excluded.entries, bytes = bytes + excluded.bytes`,
  );
  const removeEmpty = db.prepare<[Share]>(
    `DELETE FROM quarantine_sums WHERE entries <= 0 AND (
       (what = 'webhook' AND webhook_id = :webhookId AND network = '')
       OR (what = 'network' AND webhook_id = '' AND network = :network)
       OR (what = 'share' AND webhook_id = :webhookId AND network = :network))`,
  );
  const lose = db.prepare<[number]>("UPDATE quarantine_sums SET entries = entries + ? WHERE what = 'lost'");
  return {
    ...quarantineReads(db),
    entryOf: (key) => known.get(key),
    addEntry: (row) => void insert.run({ ...row, digest: Buffer.from(row.digest) }),
    addEntryRepeat: (place, at) => void repeat.run(place, at),
    takeOut(key) {
      const repeated = repeatsOf.get(key);
      const entry = takeOut.get(key);
      return entry && { ...entry, repeated };
    },
    removeLast: ({ webhookId, network }) => removeLast.get(webhookId, network),
    addToSums({ webhookId, network, entries, bytes }) {
      addToSums.run({ webhookId, network, entries, bytes });
      if (entries < 0) removeEmpty.run({ webhookId, network });
    },
    addLost: (entries) => void lose.run(entries),
  };
}
