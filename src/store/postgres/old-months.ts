import type { PruningStep } from '../semantics/pruning.ts';
import type { Database } from './database.ts';
import { REPLAY_ALONE, TIDY_ALONE } from './locks.ts';

const HOUR_MS = 3_600_000;
/** A step of 200 events, as retention takes them, spends most of its time on the way and at the disk. */
const LARGE_STEP = 5000;

/**
 * The months in which retention keeps nothing any more. Their partitions are dropped, which gives their room on the disk back at
 * once; to delete their rows writes twice as much, and leaves the room to vacuum (docs/scaling.md has figures). What else is removed of their events goes
 * in the small steps of retention, as ever: whatever crashes in between, the events are still there for that.
 */
export class OldMonths {
  readonly #database: Database;
  /** what ended before is marked in large steps */
  #droppedUntil: number | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Prunes one step, and drops partitions before. Of what ended in a month that is dropped little is left to be removed: so many
   * more events go in one step.
   * @param take prunes so many events at most, and tells how many those were
   */
  async prune(step: PruningStep, take: (step: PruningStep) => Promise<number>): Promise<number> {
    if (step.among !== undefined) return take(step);
    await this.#drop(step.handledBefore);
    if (this.#droppedUntil === undefined) return take(step);
    const handledBefore = Math.min(step.handledBefore, this.#droppedUntil);
    const limit = Math.max(step.limit, LARGE_STEP);
    const pruned = await take({ ...step, handledBefore, limit });
    if (pruned < limit) this.#droppedUntil = undefined;
    return pruned < step.limit ? pruned + (await take(step)) : pruned;
  }

  /** Drops the partitions of whose events all ended handled or skipped before a time; looks for them once an hour of that time. */
  async #drop(handledBefore: number): Promise<void> {
    if (handledBefore - this.#lookedAt < HOUR_MS) return;
    this.#lookedAt = handledBefore;
    const partitions = await this.#database.statements.rows<{ name: string }>(PARTITIONS);
    for (const { name } of partitions.filter((one) => endOf(one.name) <= handledBefore)) {
      // A long query or another process is in the way: rows go in small steps meanwhile, and the partition an hour later.
      const isDropped = await this.#dropOne(name, handledBefore).catch(() => false);
      if (isDropped && name.startsWith('bodies_'))
        this.#droppedUntil = Math.max(this.#droppedUntil ?? 0, endOf(name));
    }
  }

  async #dropOne(name: string, handledBefore: number): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      const [lock] = await session.rows<{ mine: boolean }>(TIDY_ALONE);
      if (!lock?.mine) return false;
      // Refused where everything was moved away: a trigger sees no DROP.
      await session.rows('DELETE FROM hookkit.bodies WHERE FALSE');
      // An ended event comes back by a replay only, and a new row by a handler that ran long or from the quarantine.
      await session.rows(REPLAY_ALONE);
      await session.script(`LOCK TABLE hookkit.${name} IN SHARE MODE`);
      const kept = await session.rows(
        `SELECT FROM hookkit.${name} AS part WHERE NOT EXISTS (
           SELECT FROM hookkit.results WHERE results.event = part.event AND handled_at < $1) LIMIT 1`,
        [handledBefore],
      );
      if (kept.length > 0) return false;
      // Acks wait behind whoever waits for this lock.
      await session.script("SET LOCAL lock_timeout = '200ms'");
      await session.script(`DROP TABLE hookkit.${name}`);
      return true;
    });
  }
}

const PARTITIONS = `
  SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
  WHERE inhparent IN ('hookkit.bodies'::regclass, 'hookkit.attempts'::regclass) ORDER BY relname`;

/** When the month of a partition is over; never for the one that has all others. */
function endOf(partition: string): number {
  const [, year, month] = /_(\d{4})_(\d{2})$/.exec(partition) ?? [];
  return month === undefined ? Number.POSITIVE_INFINITY : Date.UTC(Number(year), Number(month));
}
