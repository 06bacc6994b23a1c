import type { Bound, Holder, QuarantineTables, Share } from '../driver.ts';
import type { ToQuarantine } from '../stored.ts';

/** A webhook or network that holds this part of the whole is large; there are at most eight. All others are small. */
const LARGE = 1 / 8;
/** The part that all small ones together may take from large ones. */
const OF_SMALL = 1 / 4;
/** How many entries give way to one at most, so that a quarantine with a lower limit than before does not stall acks. */
const MOST_TO_MAKE_ROOM = 200;
/** The size of a row beside its texts: digests, numbers, its places in indexes and its part of the sums. */
const BYTES_A_ROW = 512;

/** How much room an entry takes. The webhook's name is stored four times: in the row, in two indexes, and in the sums. */
export function bytesOf({ token, body, source, webhookId, kind, siteId, resource }: ToQuarantine): number {
  const texts = [token, body, source, webhookId, webhookId, webhookId, webhookId, kind, siteId, resource];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), BYTES_A_ROW);
}

/** Asks for the largest one of all. */
const LARGEST: Bound = { limit: 1, least: 0 };

type Sized = Share & Pick<Holder, 'bytes'>;

/**
 * Makes room for an entry that the sums have already, and which may itself give way: then it is out of them again.
 * @returns how many entries are lost, and whether the one that arrives has room
 */
export async function makeRoom(
  tables: QuarantineTables,
  { webhookId, network, bytes }: Sized,
  maxBytes: number,
): Promise<{ readonly lost: number; readonly hasRoom: boolean }> {
  let arriving: Sized | undefined = { webhookId, network, bytes };
  let held = (await tables.sums([{}]))[0]?.bytes ?? 0;
  let lost = 0;
  for (; held > maxBytes && (arriving || lost < MOST_TO_MAKE_ROOM); lost++) {
    const share: Share | undefined = lost < MOST_TO_MAKE_ROOM ? await givesWay(tables, arriving) : arriving;
    const isOther = share && !(arriving && isSame(share, arriving));
    const removed: number | undefined = isOther ? await tables.removeLast(share) : undefined;
    const gone: Sized | undefined = share && removed !== undefined ? { ...share, bytes: removed } : arriving;
    if (!gone) break;
    await tables.addToSums({ ...gone, entries: -1, bytes: -gone.bytes });
    held -= gone.bytes;
    if (removed === undefined) arriving = undefined;
  }
  return { lost, hasRoom: arriving !== undefined };
}

function isSame(one: Share, other: Share): boolean {
  return one.webhookId === other.webhookId && one.network === other.network;
}

/**
 * The share that gives way when there is no room. Small webhooks and networks together have one allowance: beyond it,
 * what arrives from them gives way. Otherwise the largest webhook or network does, and of it the largest share by the
 * same rule. Among equals it is the arriving one, which is the newest.
 */
async function givesWay(tables: QuarantineTables, arriving: Share | undefined): Promise<Share | undefined> {
  const { webhookId = '', network = '' } = arriving ?? {};
  const asked = arriving ? [{}, { webhookId }, { network }, { webhookId, network }] : [{}];
  const sums = (await tables.sums(asked)).map(({ bytes }) => bytes);
  const [all = 0, ofWebhook = 0, ofNetwork = 0, ofShare = 0] = sums;
  const large = largeOf(all);
  const webhooks = await tables.largest('webhookId', large);
  const networks = await tables.largest('network', large);
  const isSmall = Math.max(ofWebhook, ofNetwork) < large.least;
  if (arriving && isSmall && (await heldBySmall(tables, all, { webhooks, networks })) > all * OF_SMALL)
    return arriving;
  const [webhook] = webhooks.length > 0 ? webhooks : await tables.largest('webhookId', LARGEST);
  const [other] = networks.length > 0 ? networks : await tables.largest('network', LARGEST);
  if (!webhook || !other) return undefined;
  const most = larger(webhook, other);
  const own = larger({ name: webhookId, bytes: ofWebhook }, { name: network, bytes: ofNetwork });
  if (!arriving || own.bytes < most.bytes) return shareWithin(tables, most);
  return shareWithin(tables, own, { ...arriving, bytes: ofShare });
}

/** A webhook or network that makes room, and what its shares differ in. */
interface Giving extends Holder {
  readonly what: keyof Share;
  readonly shares: keyof Share;
}

function larger(webhook: Holder, network: Holder): Giving {
  return webhook.bytes > network.bytes
    ? { ...webhook, what: 'webhookId', shares: 'network' }
    : { ...network, what: 'network', shares: 'webhookId' };
}

/**
 * The share that gives way of a webhook or network: of the webhook the largest network, and the other way round.
 * @param arriving the share of the entry that arrives, if it is one of them
 */
async function shareWithin(
  tables: QuarantineTables,
  { what, shares: others, name, bytes }: Giving,
  arriving?: Sized,
): Promise<Share | undefined> {
  const within = { [what]: name };
  const large = await tables.largest(others, largeOf(bytes), within);
  const isLarge = arriving !== undefined && arriving.bytes >= largeOf(bytes).least;
  const isOfSmall = bytes - sumOf(large) > bytes * OF_SMALL && !isLarge;
  if (arriving && isOfSmall) return arriving;
  const rank = isOfSmall ? large.length : 0;
  const share = large[rank] ?? (await tables.largest(others, { limit: rank + 1, least: 0 }, within))[rank];
  if (arriving && share && arriving.bytes >= share.bytes) return arriving;
  if (!share) return undefined;
  return what === 'webhookId'
    ? { webhookId: name, network: share.name }
    : { webhookId: share.name, network: name };
}

/** What the webhooks and networks hold together that are small, in both respects. */
async function heldBySmall(
  tables: QuarantineTables,
  all: number,
  { webhooks, networks }: { readonly webhooks: readonly Holder[]; readonly networks: readonly Holder[] },
): Promise<number> {
  const both = webhooks.flatMap((webhook) =>
    networks.map((network) => ({ webhookId: webhook.name, network: network.name })),
  );
  return all - sumOf(webhooks) - sumOf(networks) + sumOf(await tables.sums(both));
}

/** What asks for the large ones of a whole. */
function largeOf(whole: number): Bound {
  return { limit: 1 / LARGE, least: whole * LARGE };
}

function sumOf(sums: readonly Pick<Holder, 'bytes'>[]): number {
  return sums.reduce((sum, { bytes }) => sum + bytes, 0);
}
