import type { Database } from 'better-sqlite3';
import type { Kept, Quarantined, Recorded, ToQuarantine } from '../../event-store.ts';
import { networkOf, tokenDigest } from '../../quarantine-keys.ts';
import { bytesOf, LARGE, MOST_TO_MAKE_ROOM, OF_SMALL } from '../../semantics/quarantine-room.ts';
import { recordAgain } from '../../semantics/recording.ts';
import { tablesOf } from '../tables/index.ts';

/** The share of the quarantine that one network sent for one webhook. */
interface Share {
  readonly webhookId: string;
  readonly network: string;
}

/** The two ways in which shares are summed up. */
type Side = 'webhook' | 'network';
const COLUMN = { webhook: 'webhook_id', network: 'network' } as const;

/** A webhook or network, and what it holds. */
interface Group {
  readonly name: string;
  readonly bytes: number;
}

/** How many can be large. */
const MOST_LARGE = 8;

const nameOf = (what: Side, { webhookId, network }: Share) => (what === 'webhook' ? webhookId : network);
const keyOf = ({ webhookId, network }: Share): Share => ({ webhookId, network });
const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0);

type Entry = ToQuarantine & Pick<Quarantined, 'receivedAt'>;

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
  const largeOf = (what: Side) =>
    db.prepare<[number], Group>(
      `SELECT ${COLUMN[what]} AS name, bytes FROM quarantine_sums
       WHERE what = '${what}' AND bytes >= ? ORDER BY bytes DESC LIMIT ${MOST_LARGE}`,
    );
  const sharesOf = (what: Side, condition: string) =>
    db.prepare<[string, number], Share & Pick<Group, 'bytes'>>(
      `SELECT webhook_id AS webhookId, network, bytes FROM quarantine_sums INDEXED BY quarantine_largest_of_${what}
       WHERE what = 'share' AND ${COLUMN[what]} = ? AND bytes ${condition} ORDER BY bytes DESC LIMIT ${MOST_LARGE}`,
    );
  const statements = (what: Side) => ({
    large: largeOf(what),
    largeShares: sharesOf(what, '>= ?'),
    smallShares: sharesOf(what, '< ?'),
  });
  const sides = { webhook: statements('webhook'), network: statements('network') };
  const heldBy = (what: string, { webhookId, network }: Share) => held.get(what, webhookId, network) ?? 0;

  /** What the webhooks and networks hold together that are small, in both respects. */
  const heldBySmall = (all: number, webhooks: readonly Group[], networks: readonly Group[]): number => {
    const both = webhooks.flatMap(({ name: webhookId }) =>
      networks.map(({ name: network }) => heldBy('share', { webhookId, network })),
    );
    return all - sumOf([...webhooks, ...networks].map(({ bytes }) => bytes)) + sumOf(both);
  };

  /** The share that gives way of a webhook or network: of the webhook the largest network, and the other way round. */
  const shareWithin = (what: Side, group: Group, arriving: Share | undefined): Share | undefined => {
    const least = group.bytes * LARGE;
    const large = sides[what].largeShares.all(group.name, least);
    const isInside = arriving !== undefined && nameOf(what, arriving) === group.name;
    const isLarge = isInside && heldBy('share', arriving) >= least;
    const small = group.bytes - sumOf(large.map(({ bytes }) => bytes));
    if (small > group.bytes * OF_SMALL && !isLarge)
      return isInside ? arriving : sides[what].smallShares.get(group.name, least);
    const largest = large[0] ?? sides[what].largeShares.get(group.name, 0);
    const isOwn = isInside && largest !== undefined && heldBy('share', arriving) >= largest.bytes;
    return isOwn ? arriving : largest;
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
     * The share that gives way when there is no room. Small webhooks and networks together have one allowance: beyond it,
     * what arrives from them gives way. Otherwise the largest webhook or network does, and of it the largest share by the
     * same rule. Among equals it is the arriving one, which is the newest.
     * @param arriving the share of the entry that arrives, whose bytes are in the sums
     */
    givesWay(arriving: Share | undefined): Share | undefined {
      const all = total.get() ?? 0;
      const [webhooks, networks] = [
        sides.webhook.large.all(all * LARGE),
        sides.network.large.all(all * LARGE),
      ];
      const isSmall =
        arriving !== undefined &&
        !webhooks.some(({ name }) => name === arriving.webhookId) &&
        !networks.some(({ name }) => name === arriving.network);
      if (isSmall && heldBySmall(all, webhooks, networks) > all * OF_SMALL) return arriving;
      const webhook = webhooks[0] ?? sides.webhook.large.get(0);
      const network = networks[0] ?? sides.network.large.get(0);
      if (!webhook || !network) return undefined;
      const most = Math.max(webhook.bytes, network.bytes);
      const ofOwn = arriving && {
        webhook: held.get('webhook', arriving.webhookId, '') ?? 0,
        network: held.get('network', '', arriving.network) ?? 0,
      };
      if (arriving && ofOwn && Math.max(ofOwn.webhook, ofOwn.network) >= most) {
        const what = ofOwn.webhook > ofOwn.network ? 'webhook' : 'network';
        return shareWithin(what, { name: nameOf(what, arriving), bytes: ofOwn[what] }, arriving);
      }
      return webhook.bytes > network.bytes
        ? shareWithin('webhook', webhook, arriving)
        : shareWithin('network', network, arriving);
    },
  };
}

export function quarantine(db: Database): (input: { entry: Entry; maxBytes: number }) => Kept {
  const sums = sumsOf(db);
  const known = db.prepare<[Buffer], number>('SELECT id FROM quarantine WHERE token_digest = ?').pluck();
  const repeat = db.prepare(
    `INSERT INTO quarantine_repeats (id, repeats, last_at) VALUES (:id, 1, :at)
     ON CONFLICT (id) DO UPDATE SET repeats = repeats + 1, last_at = max(last_at, excluded.last_at)`,
  );
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

  /** Makes room for an entry that is in the sums already, and which may itself give way: then it is removed from them. */
  const makeRoom = (
    row: Share & Pick<Group, 'bytes'>,
    maxBytes: number,
  ): { lost: number; hasRoom: boolean } => {
    let arriving: Share | undefined = row;
    let lost = 0;
    while (sums.total() > maxBytes && (arriving || lost < MOST_TO_MAKE_ROOM)) {
      const share = lost < MOST_TO_MAKE_ROOM ? sums.givesWay(arriving) : arriving;
      const bytes = share && share !== arriving ? removeNewest.get(keyOf(share)) : undefined;
      if (share && bytes !== undefined) sums.remove(share, bytes);
      else if (arriving) sums.remove(row, row.bytes);
      else break;
      if (bytes === undefined) arriving = undefined;
      lost++;
    }
    return { lost, hasRoom: arriving !== undefined };
  };

  return ({ entry, maxBytes }) => {
    const digest = tokenDigest(entry.token);
    if (maxBytes === 0) return { isKept: false, lost: 0 };
    const id = known.get(digest);
    if (id !== undefined) {
      repeat.run({ id, at: entry.receivedAt });
      return { isKept: false, lost: 0 };
    }
    const row = { ...entry, network: networkOf(entry.source), bytes: bytesOf(entry), tokenDigest: digest };
    sums.add(row, row.bytes);
    const { lost, hasRoom } = makeRoom(row, maxBytes);
    if (hasRoom) insert.run({ ...row, digest: Buffer.from(entry.digest) });
    if (lost > 0) sums.lose(lost);
    return { isKept: hasRoom, lost };
  };
}

export function hasQuarantined(db: Database): () => boolean {
  const find = db.prepare('SELECT 1 FROM quarantine LIMIT 1');
  return () => find.get() !== undefined;
}

/** Moves an entry to the ledger, with all its deliveries. */
export function admit(db: Database): (token: string) => Promise<Recorded | undefined> {
  const sums = sumsOf(db);
  const takeOut = db.prepare<[Buffer], Omit<Entry, 'token'> & Share & { readonly bytes: number }>(
    `DELETE FROM quarantine WHERE token_digest = ?
     RETURNING network, bytes, source, received_at AS receivedAt, event_time AS eventTime, digest, kind,
       webhook_id AS webhookId, site_id AS siteId, resource, body`,
  );
  const repeatsOf = db.prepare<[Buffer], { readonly repeats: number; readonly lastAt: number }>(
    `SELECT repeats, last_at AS lastAt FROM quarantine_repeats
     WHERE id = (SELECT id FROM quarantine WHERE token_digest = ?)`,
  );
  return async (token) => {
    const tokenKey = tokenDigest(token);
    const repeated = repeatsOf.get(tokenKey);
    const entry = takeOut.get(tokenKey);
    if (!entry) return undefined;
    sums.remove(entry, entry.bytes);
    return recordAgain(tablesOf(db), entry, repeated);
  };
}
