import { hash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { networkOf } from '../../base/request-source.ts';
import { type Db, type Dialect, insert } from '../dialect.ts';
import { callsOf, type Engine, gathered } from '../engine.ts';
import { inOrder } from '../queue/lanes.ts';
import type { Queue, Recorded } from '../queue/queue.ts';
import { type Arrival, recordOperations } from '../queue/record.ts';
import type { Quarantined, ToQuarantine } from '../stored.ts';
import { type Claimed, IS_CLAIMED, quarantineReads } from './lists/entries.ts';

/** An entry that arrives, with the network of its source, and the bytes that it takes. */
type Entry = ToQuarantine &
  Pick<Quarantined, 'receivedAt'> & { readonly network: string; readonly bytes: number };

/** How many entries are dropped in one commit. */
const DROPPED = 500;

/** The name of an entry. */
const digestOf = (token: string) => hash('sha256', token);

export function quarantineOperations(d: Dialect) {
  const { record } = recordOperations(d);
  const columns =
    'digest text, id text, kind text, webhook_id text, site_id text, resource text, event_time bigint, received_at bigint, ' +
    'body text, token text, source text, network text, bytes int';
  const repeated = 'ON CONFLICT (digest) DO UPDATE SET deliveries = quarantine.deliveries + 1';
  const add = insert(d, 'quarantine', columns, repeated);
  const giving = d.rows('seq bigint');
  const giveWay = `DELETE FROM quarantine ${giving.using} WHERE ${giving.is('quarantine.seq')} RETURNING quarantine.seq`;
  const addLost = `INSERT INTO meta (name, value) VALUES ('quarantine_lost', $n)
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS bigint) + CAST($n AS bigint) AS text)`;
  const takeOut = `DELETE FROM quarantine WHERE digest = $digest
    RETURNING id, kind, webhook_id, site_id, resource, event_time, received_at, body, deliveries`;
  const drop = `DELETE FROM quarantine WHERE seq IN (SELECT seq FROM quarantine
    WHERE received_at < $before AND ${IS_CLAIMED} ORDER BY seq LIMIT ${DROPPED}) RETURNING seq`;

  return {
    /** Keeps entries, each once. */
    async keep(db: Db, { list }: { list: readonly Entry[] }): Promise<void> {
      for (const entry of list) await db.each(add, [{ ...entry, digest: digestOf(entry.token) }]);
    },

    /** Removes entries to make room. @returns how many were still there */
    async giveWay(db: Db, { list }: { list: readonly { seq: number }[] }): Promise<number> {
      return (await db.each(giveWay, inOrder(list, 'seq'))).length;
    },

    /** Counts lost notifications: entries that were deleted to make room, and notifications that were never stored. */
    async countLost(db: Db, { n }: { n: number }): Promise<void> {
      await db.all(addLost, { n: String(n) });
    },

    /** Removes the oldest entries that came before a time: of a webhook, resource or site, or of all. @returns how many */
    async drop(db: Db, which: { readonly before: number } & Claimed) {
      return (await db.all(drop, which)).length;
    },

    /** Moves an entry to the events with all its deliveries. Undefined if it is not there: another process may have been first. */
    async admit(db: Db, { token }: { readonly token: string }): Promise<Recorded | undefined> {
      const [entry] = await db.all<Arrival>(takeOut, { digest: digestOf(token) });
      if (!entry) return undefined;
      const [isNew] = await record(db, { list: [entry] });
      return { status: isNew ? 'accepted' : 'duplicate', id: entry.id };
    },
  };
}

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
