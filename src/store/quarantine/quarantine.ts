import type { Clock } from '../../base/clock.ts';
import { type Calls, callsOf, type Engine } from '../engine.ts';
import type { Queue, Recorded } from '../queue/queue.ts';
import type { ToQuarantine } from '../stored.ts';
import { DROPPED, type Dropping, quarantineOperations } from './entries.ts';
import type { quarantineReads } from './lists/entries.ts';
import { entryOf, keepingOn } from './room.ts';

/** The lists of the quarantine. */
export type QuarantineReader = Calls<ReturnType<typeof quarantineReads>>;
export type QuarantineFacade = ReturnType<typeof quarantineOn>;

/** Notifications that no stored secret explains. */
export function quarantineOn(
  engine: Engine,
  reader: QuarantineReader,
  queue: Pick<Queue, 'tellRecorded'>,
  clock: Clock,
) {
  const calls = { ...reader, ...callsOf(quarantineOperations, engine.write) };
  const keep = keepingOn(calls);
  return {
    ...calls,

    /**
     * Keeps an entry in the quarantine, which holds about `maxBytes` at most: each process reads its size again once it has added a
     * twentieth of that. When the quarantine is full, a twentieth is deleted first.
     * @returns how many entries were lost for lack of room, this one or others
     */
    add: (entry: ToQuarantine, maxBytes: number): Promise<number> =>
      keep({ ...entryOf(entry, clock.now()), maxBytes }),

    /** Removes entries for good. @returns how many */
    async drop(which: Dropping): Promise<number> {
      let [dropped, step] = [0, DROPPED];
      for (; step === DROPPED; dropped += step) step = await calls.drop(which);
      return dropped;
    },

    /** Moves an entry to the events with all its deliveries, in one commit. Undefined if it is not there: another process may have been first. */
    async admit(token: string): Promise<Recorded | undefined> {
      const admitted = await calls.admit({ token });
      if (!admitted) return undefined;
      if (admitted.isNew) queue.tellRecorded();
      return { status: admitted.isNew ? 'accepted' : 'duplicate', id: admitted.id };
    },
  };
}
