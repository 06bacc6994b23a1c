import type { EventTables, QuarantineReads, QuarantineTables, Stream } from '../driver.ts';
import type { QuarantineSummary, WaitingWebhook } from '../event-search.ts';
import type { Kept, QuarantinePage, Recorded } from '../event-store.ts';
import { attached, networkOf } from '../quarantine-keys.ts';
import type { Quarantined, ToQuarantine, Unproven } from '../stored.ts';
import { bytesOf, makeRoom } from './quarantine-room.ts';
import { recordAgain } from './recording.ts';

/** A page has at most so many entries, and at most so many bytes, but at least one entry. */
const PAGE = 500;
const PAGE_BYTES = 1024 * 1024;
/** At most so many webhooks are listed: strangers can make their names up. */
const MOST_WEBHOOKS = 500;

/** An entry that arrives. */
export interface Arrival {
  /** its token as it is kept: see `detached` */
  readonly entry: ToQuarantine & Pick<Quarantined, 'receivedAt'>;
  /** the digest of the whole token, in hexadecimal */
  readonly key: string;
  readonly maxBytes: number;
}

/** Keeps an entry, if there is or can be room for it. One whose token is there already counts as a repeat. */
export async function quarantine(tables: QuarantineTables, { entry, key, maxBytes }: Arrival): Promise<Kept> {
  if (maxBytes === 0) return { isKept: false, lost: 0 };
  const tokenDigest = Buffer.from(key, 'hex');
  const known = await tables.entryOf(tokenDigest);
  if (known !== undefined) {
    await tables.addEntryRepeat(known, entry.receivedAt);
    return { isKept: false, lost: 0 };
  }
  const [network, bytes] = [networkOf(entry.source), bytesOf(entry)];
  await tables.addToSums({ webhookId: entry.webhookId, network, entries: 1, bytes });
  const { lost, hasRoom } = await makeRoom(tables, { webhookId: entry.webhookId, network, bytes }, maxBytes);
  if (hasRoom) await tables.addEntry({ ...entry, network, bytes, tokenDigest });
  if (lost > 0) await tables.addLost(lost);
  return { isKept: hasRoom, lost };
}

/** Moves an entry to the ledger, with all its deliveries. @param key the digest of its token, in hexadecimal */
export async function admit(
  tables: EventTables & QuarantineTables,
  key: string,
): Promise<Recorded | undefined> {
  const entry = await tables.takeOut(Buffer.from(key, 'hex'));
  if (!entry) return undefined;
  const { webhookId, network, bytes, repeated } = entry;
  await tables.addToSums({ webhookId, network, entries: -1, bytes: -bytes });
  return recordAgain(tables, entry, repeated);
}

export async function hasQuarantined(tables: QuarantineReads): Promise<boolean> {
  return (await quarantineSize(tables, undefined)) > 0;
}

/** How many entries there are, of one webhook or all. */
async function quarantineSize(tables: QuarantineReads, webhookId: string | undefined): Promise<number> {
  const [sum] = await tables.sums([webhookId === undefined ? {} : { webhookId }]);
  return sum?.entries ?? 0;
}

/** Entries with their tokens, which verify them once their secret is known. */
async function quarantined(
  tables: QuarantineReads,
  { webhook, after = 0 }: QuarantinePage,
): Promise<Quarantined[]> {
  const page = await pageOf(tables.quarantined(after, webhook));
  return page.map((entry) => ({ ...entry, token: attached(entry.token, entry.body) }));
}

async function unproven(
  tables: QuarantineReads,
  { webhook, after = 0 }: QuarantinePage,
): Promise<Unproven[]> {
  return pageOf(tables.unproven(after, webhook));
}

/** Reads no further than a page goes. */
async function pageOf<R extends Pick<Unproven, 'bytes'>>(rows: Stream<R>, most = PAGE): Promise<R[]> {
  const page: R[] = [];
  let left = PAGE_BYTES;
  for await (const row of rows) {
    page.push(row);
    left -= row.bytes;
    if (left <= 0 || page.length === most) break;
  }
  return page;
}

async function waitingWebhooks(
  tables: QuarantineReads,
  after: string | undefined,
): Promise<readonly WaitingWebhook[]> {
  return tables.webhooksAfter(after, MOST_WEBHOOKS);
}

/** The webhooks that hold most, by their last entry, and the newest entries. */
async function quarantineSummary(tables: QuarantineReads, newest: number): Promise<QuarantineSummary> {
  const names = (await tables.largest('webhookId', { limit: MOST_WEBHOOKS, least: 0 })).map(
    ({ name }) => name,
  );
  const sums = await tables.sums(names.map((webhookId) => ({ webhookId })));
  const arrivals = await tables.arrivals(names);
  const webhooks = names.flatMap((webhookId, index) => {
    const times = arrivals[index];
    return times ? [{ webhookId, notifications: sums[index]?.entries ?? 0, ...times }] : [];
  });
  const entries = await pageOf(tables.unprovenBackwards(), newest);
  return {
    total: await quarantineSize(tables, undefined),
    webhooks: webhooks.sort((one, other) => other.lastAt - one.lastAt),
    newest: entries.map(({ digest: _, place: __, bytes: ___, ...entry }) => entry),
  };
}

/** What readers ask. */
export const quarantineQueries = {
  quarantined,
  unproven,
  quarantineSize,
  waitingWebhooks,
  quarantineSummary,
} satisfies Readonly<Record<string, (tables: QuarantineReads, input: never) => Promise<unknown>>>;
