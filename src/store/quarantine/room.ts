import { networkOf } from '../../base/request-source.ts';
import type { Calls } from '../engine.ts';
import { gathered } from '../gathered.ts';
import type { ToQuarantine } from '../stored.ts';
import { digestOf, type Entry, type quarantineOperations } from './entries.ts';
import type { quarantineReads } from './lists/entries.ts';

/** How many entries are deleted in one commit: acks come through in between. */
const STEP = 200;
/** The bytes that an entry takes beside its texts. */
const ENTRY_BYTES = 200;

export function entryOf(entry: ToQuarantine, receivedAt: number): Entry {
  const bytes = Buffer.byteLength(entry.body) + entry.token.length + ENTRY_BYTES;
  return { ...entry, digest: digestOf(entry.token), network: networkOf(entry.source), bytes, receivedAt };
}

/**
 * Keeps entries, each with the bytes that all of them may have; entries that come while room is made wait. For each it resolves with the
 * number of entries that were deleted to make room, and not told before.
 */
export function keepingOn(
  calls: Calls<ReturnType<typeof quarantineOperations> & ReturnType<typeof quarantineReads>>,
) {
  /** how many bytes may come until the size of the quarantine is read again */
  let room = 0;
  let lost = 0;

  /**
   * Makes room, in steps between which acks come through. It deletes the newest entries of the network (/24 or /56) or webhook that holds
   * most, or of all where none holds a twentieth. Entries of webhooks with a stored secret stay while these hold a tenth at most.
   * @param bytes of the entries that come now
   * @returns how many bytes may come until the size is read again
   */
  const makeRoom = async (bytes: number, maxBytes: number): Promise<number> => {
    const twentieth = Math.ceil(maxBytes / 20);
    // A read, as it goes through all entries: some 100 ms at 256 MiB, in which the writer goes on.
    const { shares, ...held } = await calls.shares({ least: twentieth });
    const all: (typeof shares)[number] = { bytes: held.bytes };
    const goal = held.bytes + bytes > maxBytes ? maxBytes - twentieth - bytes : held.bytes;
    while (all.bytes > goal) {
      const [most = all] = shares
        .filter((one) => one.bytes >= twentieth)
        .sort((one, other) => other.bytes - one.bytes);
      const page = await calls.newestOf({ ...most, limit: STEP });
      const list = page.filter((entry) => {
        if (all.bytes <= goal || (entry.isOurs && held.ours <= maxBytes / 10)) return false;
        if (entry.isOurs) held.ours -= entry.bytes;
        all.bytes -= entry.bytes;
        for (const one of shares)
          if (one.network === entry.network || one.webhookId === entry.webhookId) one.bytes -= entry.bytes;
        return true;
      });
      most.before = page.at(-1)?.seq;
      if (list.length > 0) lost += await calls.giveWay({ list });
      else if (most === all && page.length === 0) break;
      else if (most.webhookId !== undefined || page.length === 0) most.bytes = 0; // what is left of it stays
    }
    return Math.min(bytes + twentieth, maxBytes - all.bytes);
  };

  return gathered(async (list: readonly (Entry & { readonly maxBytes: number })[]) => {
    const bytes = list.reduce((sum, entry) => sum + entry.bytes, 0);
    if (room < bytes) room = await makeRoom(bytes, list[0]?.maxBytes ?? 0);
    await calls.keep({ list });
    room -= bytes;
    const told = lost;
    lost = 0;
    return list.map((_, index) => (index === 0 ? told : 0));
  });
}
