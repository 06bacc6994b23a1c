import type { QuarantineSummary, WaitingWebhook } from '../event-search.ts';
import type { Kept, QuarantinePage, Recorded } from '../event-store.ts';
import { networkOf } from '../quarantine-keys.ts';
import { bytesOf, MOST_TO_MAKE_ROOM, PAGE, PAGE_BYTES } from '../semantics/quarantine-room.ts';
import { recordAgain } from '../semantics/recording.ts';
import type { Quarantined, ToQuarantine, Unproven } from '../stored.ts';
import type { MemoryDatabase } from './database.ts';
import { givesWay } from './quarantine-shares.ts';
import { byText, type Rows, type Waiting } from './rows.ts';

type Database = Pick<MemoryDatabase, 'rows'>;

function entriesOf(rows: Rows): Waiting[] {
  return rows.quarantine.all().sort((one, other) => one.place - other.place);
}

export function quarantine(
  { rows }: Database,
  entry: ToQuarantine & Pick<Quarantined, 'receivedAt'>,
  maxBytes: number,
): Kept {
  const none = { isKept: false, lost: 0 };
  if (maxBytes === 0) return none;
  const known = rows.quarantine.get(entry.token);
  if (known) {
    const lastAt = Math.max(known.lastAt, entry.receivedAt);
    rows.quarantine.set(entry.token, { ...known, deliveries: known.deliveries + 1, lastAt });
    return none;
  }
  const place = 1 + (rows.counters.get('quarantined') ?? 0);
  const network = networkOf(entry.source);
  const row = { ...entry, place, network, bytes: bytesOf(entry), deliveries: 1, lastAt: entry.receivedAt };
  const lost = makeRoom(rows, row, maxBytes);
  const isKept = !lost.includes(row);
  if (isKept) rows.quarantine.set(row.token, row);
  if (isKept) rows.counters.set('quarantined', place);
  if (lost.length > 0) rows.counters.set('lost', lost.length + (rows.counters.get('lost') ?? 0));
  return { isKept, lost: lost.length };
}

/** Removes what gives way to an entry that arrives. @returns what is lost, which may be the entry itself */
function makeRoom(rows: Rows, arriving: Waiting, maxBytes: number): Waiting[] {
  const lost: Waiting[] = [];
  const hasRoom = () => sizeOf(entriesOf(rows)) + (lost.includes(arriving) ? 0 : arriving.bytes) <= maxBytes;
  while (!hasRoom()) {
    const held = entriesOf(rows);
    const isLost = lost.includes(arriving);
    const isEnough = lost.length >= MOST_TO_MAKE_ROOM;
    if (isEnough && isLost) break;
    const share = isEnough
      ? arriving
      : givesWay(isLost ? held : [...held, arriving], isLost ? undefined : arriving);
    const entry =
      share === arriving
        ? arriving
        : held.findLast(
            ({ webhookId, network }) => webhookId === share?.webhookId && network === share.network,
          );
    if (!entry && isLost) break;
    lost.push(entry ?? arriving);
    if (entry && entry !== arriving) rows.quarantine.delete(entry.token);
  }
  return lost;
}

function sizeOf(entries: readonly Waiting[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Moves an entry to the ledger, with all its deliveries. */
export async function admit(
  { rows, tables }: Pick<MemoryDatabase, 'rows' | 'tables'>,
  token: string,
): Promise<Recorded | undefined> {
  const entry = rows.quarantine.get(token);
  if (!entry) return undefined;
  rows.quarantine.delete(token);
  const { deliveries, lastAt } = entry;
  return recordAgain(tables, entry, deliveries > 1 ? { repeats: deliveries - 1, lastAt } : undefined);
}

/** The first entries of a list, as many as a page holds. */
function pageOf(entries: readonly Waiting[]): Waiting[] {
  let bytes = 0;
  const isWithin = (entry: Waiting) => {
    const begin = bytes;
    bytes += entry.bytes;
    return begin < PAGE_BYTES;
  };
  return entries.slice(0, PAGE).filter(isWithin);
}

export function quarantined({ rows }: Database, { webhook, after = 0 }: QuarantinePage): Quarantined[] {
  const meant = entriesOf(rows).filter(
    ({ place, webhookId }) => place > after && (webhook === undefined || webhookId === webhook),
  );
  return pageOf(meant).map(({ network: _, lastAt: __, ...entry }) => entry);
}

export function unproven(database: Database, page: QuarantinePage): Unproven[] {
  return quarantined(database, page).map(({ token: _, ...entry }) => entry);
}

export function quarantineSize({ rows }: Database, webhook: string | undefined): number {
  return entriesOf(rows).filter(({ webhookId }) => webhook === undefined || webhookId === webhook).length;
}

export function waitingWebhooks({ rows }: Database, after: string | undefined): WaitingWebhook[] {
  return [...Map.groupBy(entriesOf(rows), ({ webhookId }) => webhookId)]
    .map(([webhookId, { length }]) => ({ webhookId, notifications: length }))
    .sort((one, other) => byText(one.webhookId, other.webhookId))
    .filter(({ webhookId }) => after === undefined || byText(webhookId, after) > 0)
    .slice(0, PAGE);
}

export function quarantineSummary({ rows }: Database, newest: number): QuarantineSummary {
  const entries = entriesOf(rows);
  const webhooks = [...Map.groupBy(entries, ({ webhookId }) => webhookId)].map(([webhookId, all]) => ({
    webhookId,
    notifications: all.length,
    firstAt: all[0]?.receivedAt ?? 0,
    lastAt: all.at(-1)?.receivedAt ?? 0,
  }));
  webhooks.sort((one, other) => other.notifications - one.notifications);
  return {
    total: entries.length,
    webhooks: webhooks.slice(0, PAGE).sort((one, other) => other.lastAt - one.lastAt),
    newest: pageOf(entries.reverse().slice(0, newest)).map(
      ({ token: _, digest, place, bytes, network, lastAt, ...entry }) => entry,
    ),
  };
}
