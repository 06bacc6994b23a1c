const LARGE = 1 / 8;
const OF_SMALL = 1 / 4;

/** An entry, as far as the shares of webhooks and networks go. */
interface Entry {
  readonly webhookId: string;
  readonly network: string;
  readonly bytes: number;
}

type Side = 'webhookId' | 'network';
type Share = Pick<Entry, Side>;

interface Group {
  readonly name: string;
  readonly bytes: number;
}

const sizeOf = (entries: readonly Pick<Entry, 'bytes'>[]) =>
  entries.reduce((sum, { bytes }) => sum + bytes, 0);

/** What each webhook or network holds, the largest first. */
function groupsOf(entries: readonly Entry[], side: Side): Group[] {
  return [...Map.groupBy(entries, (entry) => entry[side])]
    .map(([name, all]) => ({ name, bytes: sizeOf(all) }))
    .sort((one, other) => other.bytes - one.bytes || (one.name < other.name ? 1 : -1));
}

/**
 * The share that gives way when the quarantine has no room, found by looking at all entries: see docs/decisions/0027. Small webhooks and networks together have one allowance: beyond
 * it, what arrives from them gives way. Otherwise the largest webhook or network does, and of it the largest share by the
 * same rule. Among equals it is the arriving one, which is the newest.
 * @param arriving the entry that arrives, one of the entries; undefined once it is lost
 */
export function givesWay(entries: readonly Entry[], arriving: Entry | undefined): Share | undefined {
  const least = sizeOf(entries) * LARGE;
  const [webhooks, networks] = [groupsOf(entries, 'webhookId'), groupsOf(entries, 'network')];
  const large = (groups: readonly Group[]) =>
    new Set(groups.filter(({ bytes }) => bytes >= least).map(({ name }) => name));
  const [largeWebhooks, largeNetworks] = [large(webhooks), large(networks)];
  const isSmall = ({ webhookId, network }: Share) =>
    !largeWebhooks.has(webhookId) && !largeNetworks.has(network);
  if (arriving && isSmall(arriving) && sizeOf(entries.filter(isSmall)) > sizeOf(entries) * OF_SMALL)
    return arriving;
  const [webhook, network] = [webhooks[0], networks[0]];
  if (!webhook || !network) return undefined;
  const held = (groups: readonly Group[], name: string | undefined) =>
    groups.find((group) => group.name === name)?.bytes ?? 0;
  const own = [held(webhooks, arriving?.webhookId), held(networks, arriving?.network)] as const;
  if (arriving && Math.max(...own) >= Math.max(webhook.bytes, network.bytes)) {
    const side = own[0] > own[1] ? 'webhookId' : 'network';
    return shareWithin(entries, side, arriving[side], arriving);
  }
  return webhook.bytes > network.bytes
    ? shareWithin(entries, 'webhookId', webhook.name, arriving)
    : shareWithin(entries, 'network', network.name, arriving);
}

/** The share that gives way of a webhook or network: of the webhook the largest network, and the other way round. */
function shareWithin(
  entries: readonly Entry[],
  side: Side,
  name: string,
  arriving: Entry | undefined,
): Share | undefined {
  const other = side === 'webhookId' ? 'network' : 'webhookId';
  const inside = entries.filter((entry) => entry[side] === name);
  const shares = groupsOf(inside, other);
  const least = sizeOf(inside) * LARGE;
  const isInside = arriving !== undefined && arriving[side] === name;
  const own = isInside ? (shares.find((share) => share.name === arriving[other])?.bytes ?? 0) : 0;
  const small = shares.filter(({ bytes }) => bytes < least);
  const isSmallFull = sizeOf(small) > sizeOf(inside) * OF_SMALL && own < least;
  if (isInside && (isSmallFull || own >= (shares[0]?.bytes ?? 0))) return arriving;
  const share = isSmallFull ? small[0] : shares[0];
  return share && inside.find((entry) => entry[other] === share.name);
}
