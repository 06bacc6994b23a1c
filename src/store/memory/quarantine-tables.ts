import type { QuarantineTables, Share, Sum } from '../driver.ts';
import type { Quarantined, Unproven } from '../stored.ts';
import { byText, type Rows, type Waiting } from './rows.ts';

const NOTHING: Sum = { entries: 0, bytes: 0 };

/** The tables of the quarantine in memory. */
export function quarantineTables(rows: Rows) {
  const entries = () => rows.quarantine.all().sort((one, other) => one.place - other.place);
  const behind = (after: number, webhook: string | undefined) =>
    entries().filter(
      ({ place, webhookId }) => place > after && (webhook === undefined || webhookId === webhook),
    );
  const withKey = (tokenDigest: Buffer) => entries().find(({ key }) => key === tokenDigest.toString('hex'));
  const sharesOf = (part: Partial<Share>) => rows.shares.all().filter(isOf(part));
  const bySide = (what: keyof Share, within: Partial<Share>) =>
    [...Map.groupBy(sharesOf(within), (share) => share[what])].map(([name, shares]) => ({
      name,
      ...sumOf(shares),
    }));
  return {
    sums: (of) => of.map((part) => sumOf(sharesOf(part))),
    largest: (what, { least, limit }, within = {}) =>
      bySide(what, within)
        .filter(({ bytes }) => bytes >= least)
        .sort((one, other) => other.bytes - one.bytes || byText(other.name, one.name))
        .slice(0, limit),
    webhooksAfter: (after, limit) =>
      bySide('webhookId', {})
        .map(({ name, entries }) => ({ webhookId: name, notifications: entries }))
        .filter(({ webhookId }) => after === undefined || byText(webhookId, after) > 0)
        .sort((one, other) => byText(one.webhookId, other.webhookId))
        .slice(0, limit),
    arrivals: (webhooks) =>
      webhooks.map((webhook) => {
        const all = behind(0, webhook);
        const [first, last] = [all[0], all.at(-1)];
        return first && last && { firstAt: first.receivedAt, lastAt: last.receivedAt };
      }),
    quarantined: (after, webhook) => behind(after, webhook).map(quarantinedOf),
    unproven: (after, webhook) => behind(after, webhook).map(unprovenOf),
    unprovenBackwards: () => entries().reverse().map(unprovenOf),

    entryOf: (tokenDigest) => withKey(tokenDigest)?.place,
    addEntry({ tokenDigest, ...row }) {
      const place = 1 + (rows.counters.get('quarantined') ?? 0);
      rows.counters.set('quarantined', place);
      rows.quarantine.set(place, { ...row, place, key: tokenDigest.toString('hex'), repeated: undefined });
    },
    addEntryRepeat(place, at) {
      const row = rows.quarantine.get(place);
      const { repeats, lastAt } = row?.repeated ?? { repeats: 0, lastAt: at };
      const repeated = { repeats: repeats + 1, lastAt: Math.max(lastAt, at) };
      if (row) rows.quarantine.set(place, { ...row, repeated });
    },
    takeOut(tokenDigest) {
      const entry = withKey(tokenDigest);
      if (entry) rows.quarantine.delete(entry.place);
      return entry;
    },
    removeLast(share) {
      const last = entries().filter(isOf(share)).at(-1);
      if (last) rows.quarantine.delete(last.place);
      return last?.bytes;
    },
    addToSums({ webhookId, network, entries, bytes }) {
      const key = JSON.stringify([webhookId, network]);
      const before = rows.shares.get(key) ?? NOTHING;
      const after = { entries: before.entries + entries, bytes: before.bytes + bytes };
      if (after.entries > 0) rows.shares.set(key, { webhookId, network, ...after });
      else rows.shares.delete(key);
    },
    addLost: (entries) => rows.counters.set('lost', entries + (rows.counters.get('lost') ?? 0)),
  } satisfies QuarantineTables;
}

function isOf({ webhookId, network }: Partial<Share>): (share: Share) => boolean {
  return (share) =>
    (webhookId === undefined || share.webhookId === webhookId) &&
    (network === undefined || share.network === network);
}

function sumOf(shares: readonly Sum[]): Sum {
  return shares.reduce(
    (sum, { entries, bytes }) => ({ entries: sum.entries + entries, bytes: sum.bytes + bytes }),
    NOTHING,
  );
}

function quarantinedOf({ network: _, key: __, repeated, ...entry }: Waiting): Quarantined {
  return { ...entry, deliveries: 1 + (repeated?.repeats ?? 0) };
}

function unprovenOf(row: Waiting): Unproven {
  const { token: _, ...entry } = quarantinedOf(row);
  return entry;
}
