import type { Clock } from '../../base/clock.ts';
import { networkOf } from '../../base/request-source.ts';
import { callsOf, type Engine } from '../engine.ts';
import { gathered } from '../gathered.ts';
import type { Queue } from '../queue/queue.ts';
import type { ToQuarantine } from '../stored.ts';
import { DROPPED, type Entry, quarantineOperations } from './entries.ts';
import { quarantineReads } from './lists/entries.ts';

/** How many entries give way in one commit: acks come through in between. */
const STEP = 200;
/** The bytes that an entry takes beside its texts. */
const ENTRY_BYTES = 200;

/** Notifications that no stored secret explains. */
export function quarantineOn(engine: Engine, queue: Pick<Queue, 'tellRecorded'>, clock: Clock) {
  const calls = { ...callsOf(quarantineReads, engine.read), ...callsOf(quarantineOperations, engine.write) };
  /** how many bytes may come until the size of the quarantine is read again */
  let room = 0;
  /** how many entries gave way, and were not told of yet */
  let lost = 0;

  /**
   * Deletes the newest entries of the network (/24 or /56) or webhook that holds most, or of all where none holds a twentieth. Entries of
   * webhooks with a stored secret stay while these hold a tenth at most.
   * @param bytes of the entries that come now
   * @returns how many bytes may come until the size is read again
   */
  const makeRoom = async (bytes: number, maxBytes: number): Promise<number> => {
    const twentieth = Math.ceil(maxBytes / 20);
    // A read, as it goes through all entries: some 100 ms at 256 MiB, in which the writer goes on.
    const { shares, ...held } = await calls.shares({ least: twentieth });
    const goal = held.bytes + bytes > maxBytes ? maxBytes - twentieth - bytes : held.bytes;
    for (const share of [...shares, { bytes: Infinity }]) {
      let before = Number.MAX_SAFE_INTEGER;
      while (held.bytes > goal && share.bytes >= twentieth && before > 0) {
        const page = await calls.newestOf({ ...share, before, limit: STEP });
        const list = page.filter((entry) => {
          if (held.bytes <= goal || (entry.isOurs && held.ours <= maxBytes / 10)) return false;
          if (entry.isOurs) held.ours -= entry.bytes;
          held.bytes -= entry.bytes;
          share.bytes -= entry.bytes;
          return true;
        });
        before = page.at(-1)?.seq ?? 0;
        if (list.length > 0) lost += await calls.giveWay({ list });
      }
    }
    return Math.min(bytes + twentieth, maxBytes - held.bytes);
  };

  /** Keeps entries; those that come while room is made wait. */
  const keep = gathered(async (list: readonly (Entry & { readonly maxBytes: number })[]) => {
    const bytes = list.reduce((sum, entry) => sum + entry.bytes, 0);
    if (room < bytes) room = await makeRoom(bytes, list[0]?.maxBytes ?? 0);
    await calls.keep({ list });
    room -= bytes;
    const told = list.map((_, index) => (index === 0 ? lost : 0));
    lost = 0;
    return told;
  });

  return {
    ...calls,

    /**
     * Keeps an entry in the quarantine, which holds about `maxBytes` at most: each process reads its size again once it has added a
     * twentieth of that. When the quarantine is full, a twentieth is deleted first.
     * @returns how many entries were lost for lack of room, this one or others
     */
    add(entry: ToQuarantine, maxBytes: number): Promise<number> {
      const bytes = Buffer.byteLength(entry.body) + entry.token.length + ENTRY_BYTES;
      return keep({ ...entry, network: networkOf(entry.source), bytes, receivedAt: clock.now(), maxBytes });
    },

    /** Removes entries for good. @returns how many */
    async drop(which: Parameters<typeof calls.drop>[0]): Promise<number> {
      let [dropped, step] = [0, DROPPED];
      for (; step === DROPPED; dropped += step) step = await calls.drop(which);
      return dropped;
    },

    async admit(token: string): ReturnType<typeof calls.admit> {
      const admitted = await calls.admit({ token });
      if (admitted?.status === 'accepted') queue.tellRecorded();
      return admitted;
    },
  };
}
