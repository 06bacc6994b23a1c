import type { ToQuarantine } from '../stored.ts';

/** A webhook or network that holds this part of the whole is large; there are at most eight. All others are small. */
export const LARGE = 1 / 8;
/** The part that all small ones together may take from large ones. */
export const OF_SMALL = 1 / 4;
/** How many entries give way to one at most, so that a quarantine with a lower limit than before does not stall acks. */
export const MOST_TO_MAKE_ROOM = 200;
/** A page has at most so many entries, and at most so many bytes, but at least one entry. */
export const PAGE = 500;
export const PAGE_BYTES = 1024 * 1024;

/** The size of a row beside its texts: digests, numbers, its places in indexes and its part of the sums. */
const BYTES_A_ROW = 512;

/** How much room an entry takes. The webhook's name is stored four times: in the row, in two indexes, and in the sums. */
export function bytesOf({ token, body, source, webhookId, kind, siteId, resource }: ToQuarantine): number {
  const texts = [token, body, source, webhookId, webhookId, webhookId, webhookId, kind, siteId, resource];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), BYTES_A_ROW);
}
