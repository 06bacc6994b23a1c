import type { Database } from 'better-sqlite3';
import type { Kept, Quarantined, Recorded } from '../../event-store.ts';
import { networkOf, tokenDigest } from '../../quarantine-keys.ts';
import { record } from './record.ts';

/** The share of the quarantine that one network sent for one webhook. */
interface Share {
  readonly webhookId: string;
  readonly network: string;
}

/** The size of a row beside its texts: digests, numbers, its places in indexes and its part of the sums. */
const BYTES_A_ROW = 512;
/** How many entries give way to one at most, so that a quarantine with a lower limit than before does not stall acks. */
const MOST_TO_MAKE_ROOM = 200;

type Entry = Omit<Quarantined, 'place' | 'bytes'>;

/** The webhook's name is stored four times: in the row, in two indexes, and in the sums. */
function bytesOf({ token, body, source, webhookId, kind, siteId, resource }: Entry): number {
  const texts = [token, body, source, webhookId, webhookId, webhookId, webhookId, kind, siteId, resource];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), BYTES_A_ROW);
}

/** The sums: of all entries, by webhook, by network, by both, and of lost entries. */
function sumsOf(db: Database) {
  const add = db.prepare(
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
  const total = db.prepare<[], number>("SELECT bytes FROM quarantine_sums WHERE what = 'all'").pluck();
  const held = db
    .prepare<[string, string, string], number>(
      'SELECT bytes FROM quarantine_sums WHERE what = ? AND webhook_id = ? AND network = ?',
    )
    .pluck();
  const largest = (what: 'webhook' | 'network', column: string) =>
    db.prepare<[], { name: string; bytes: number }>(
      `SELECT ${column} AS name, bytes FROM quarantine_sums WHERE what = '${what}' ORDER BY bytes DESC LIMIT 1`,
    );
  const largestOf = (what: 'webhook' | 'network', column: string) =>
    db.prepare<[string], Share & { readonly bytes: number }>(
      `SELECT webhook_id AS webhookId, network, bytes FROM quarantine_sums INDEXED BY quarantine_largest_of_${what}
       WHERE what = 'share' AND ${column} = ? ORDER BY bytes DESC LIMIT 1`,
    );
  const sides = {
    webhook: { largest: largest('webhook', 'webhook_id'), share: largestOf('webhook', 'webhook_id') },
    network: { largest: largest('network', 'network'), share: largestOf('network', 'network') },
  };
  const change = (share: Share, entries: 1 | -1, bytes: number): void => {
    add.run({ webhookId: share.webhookId, network: share.network, entries, bytes: entries * bytes });
    if (entries === -1) removeEmpty.run({ webhookId: share.webhookId, network: share.network });
  };
  return {
    add: (share: Share, bytes: number) => change(share, 1, bytes),
    remove: (share: Share, bytes: number) => change(share, -1, bytes),
    lose: (entries: number) => void lose.run(entries),
    total: () => total.get() ?? 0,
    /**
     * The largest share: of the network or webhook that has most, the share in which it has most. Among equals, the share
     * of the arriving entry, which is the newest.
     */
    largest({ webhookId, network }: Share): Share | undefined {
      const [byWebhook, byNetwork] = [sides.webhook.largest.get(), sides.network.largest.get()];
      if (!byWebhook || !byNetwork) return undefined;
      const own = {
        webhook: held.get('webhook', webhookId, '') ?? 0,
        network: held.get('network', '', network) ?? 0,
      };
      const what = byWebhook.bytes > byNetwork.bytes ? 'webhook' : 'network';
      const { name, bytes } = what === 'webhook' ? byWebhook : byNetwork;
      const isOwn = Math.max(own.webhook, own.network) >= bytes;
      const ownWhat = own.webhook > own.network ? 'webhook' : 'network';
      const share = isOwn
        ? sides[ownWhat].share.get(ownWhat === 'webhook' ? webhookId : network)
        : sides[what].share.get(name);
      const ownShare = held.get('share', webhookId, network) ?? 0;
      return isOwn && share && ownShare >= share.bytes ? { webhookId, network } : share;
    },
  };
}

export function quarantine(db: Database): (input: { entry: Entry; maxBytes: number }) => Kept {
  const sums = sumsOf(db);
  const known = db.prepare('SELECT 1 FROM quarantine WHERE token_digest = ?');
  const insert = db.prepare(
    `INSERT INTO quarantine (token_digest, webhook_id, network, bytes, source, received_at, event_time, digest, kind,
       site_id, resource, token, body)
     VALUES (:tokenDigest, :webhookId, :network, :bytes, :source, :receivedAt, :eventTime, :digest, :kind,
       :siteId, :resource, :token, :body)`,
  );
  const removeNewest = db
    .prepare<[Share], number>(
      `DELETE FROM quarantine WHERE id =
         (SELECT max(id) FROM quarantine WHERE webhook_id = :webhookId AND network = :network) RETURNING bytes`,
    )
    .pluck();

  /** Makes room for an entry that is in the sums already: removes the newest of the largest share, even that entry. */
  const makeRoom = ({ webhookId, network }: Share, maxBytes: number): { lost: number; hasRoom: boolean } => {
    let lost = 0;
    while (sums.total() > maxBytes) {
      const share = sums.largest({ webhookId, network });
      const isOwn = share?.webhookId === webhookId && share.network === network;
      const bytes =
        share && !isOwn && lost < MOST_TO_MAKE_ROOM
          ? removeNewest.get({ webhookId: share.webhookId, network: share.network })
          : undefined;
      if (!share || bytes === undefined) return { lost, hasRoom: false };
      sums.remove(share, bytes);
      lost++;
    }
    return { lost, hasRoom: true };
  };

  return ({ entry, maxBytes }) => {
    const digest = tokenDigest(entry.token);
    if (maxBytes === 0 || known.get(digest) !== undefined) return { isKept: false, lost: 0 };
    const row = { ...entry, network: networkOf(entry.source), bytes: bytesOf(entry), tokenDigest: digest };
    sums.add(row, row.bytes);
    const { lost, hasRoom } = makeRoom(row, maxBytes);
    if (hasRoom) insert.run({ ...row, digest: Buffer.from(entry.digest) });
    else sums.remove(row, row.bytes);
    const allLost = hasRoom ? lost : lost + 1;
    if (allLost > 0) sums.lose(allLost);
    return { isKept: hasRoom, lost: allLost };
  };
}

export function hasQuarantined(db: Database): () => boolean {
  const find = db.prepare('SELECT 1 FROM quarantine LIMIT 1');
  return () => find.get() !== undefined;
}

export function admit(db: Database): (token: string) => Recorded | undefined {
  const sums = sumsOf(db);
  const takeOut = db.prepare<[Buffer], Omit<Entry, 'token'> & Share & { readonly bytes: number }>(
    `DELETE FROM quarantine WHERE token_digest = ?
     RETURNING network, bytes, source, received_at AS receivedAt, event_time AS eventTime, digest, kind,
       webhook_id AS webhookId, site_id AS siteId, resource, body`,
  );
  const recordIt = record(db);
  return (token) => {
    const entry = takeOut.get(tokenDigest(token));
    if (!entry) return undefined;
    sums.remove(entry, entry.bytes);
    return recordIt(entry);
  };
}
