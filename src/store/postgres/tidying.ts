import type { Clock } from '../../base/clock.ts';
import { repeat } from '../../base/repeat.ts';
import type { Database } from './database.ts';
import { TIDY_ALONE } from './locks.ts';
import { SET_FSYNC } from './migrations.ts';
import { makePartitions } from './partitions.ts';

const EVERY_MS = 5000;
const HOUR_MS = 3_600_000;
/** How many rows of tallies are summed up at once. */
const STEP = 20_000;

/** Keeps the tables small, beside the work: one process at a time does, whichever comes first. */
export class Tidying {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #onTrouble: (what: string) => void;
  #stop = () => {};
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** @param onTrouble told once an hour what only an administrator can mend */
  constructor(database: Database, clock: Clock, onTrouble: (what: string) => void = () => {}) {
    this.#database = database;
    this.#clock = clock;
    this.#onTrouble = onTrouble;
  }

  async start(): Promise<void> {
    await this.#tidy();
    this.#stop = repeat(this.#clock, EVERY_MS, async () => {
      await this.#tidy().catch(() => undefined); // a store in trouble says so where it is used
      return EVERY_MS;
    });
  }

  stop(): void {
    this.#stop();
  }

  async #tidy(): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#lookedAt >= HOUR_MS) {
      this.#lookedAt = now;
      const troubles = [await makePartitions(this.#database, now), await dangerAtPowerCut(this.#database)];
      for (const trouble of troubles) if (trouble !== undefined) this.#onTrouble(trouble);
    }
    await sumUpTallies(this.#database);
  }
}

/** What commits cannot outlast by anything that is set in a transaction. */
async function dangerAtPowerCut(database: Database): Promise<string | undefined> {
  const [row] = await database.statements.rows<{ fsync: string }>("SELECT current_setting('fsync') AS fsync");
  return row?.fsync === 'on' ? undefined : SET_FSYNC;
}

/** Puts one row in place of all that changed a tally. Readers see either. */
async function sumUpTallies(database: Database): Promise<void> {
  await database.transaction(
    async (session) => {
      const [lock] = await session.rows<{ mine: boolean }>(TIDY_ALONE);
      if (!lock?.mine) return;
      await session.rows(
        `WITH gone AS (
           DELETE FROM hookkit.tallies WHERE ctid = ANY (ARRAY (SELECT ctid FROM hookkit.tallies LIMIT ${STEP}))
           RETURNING kind, status, events)
         INSERT INTO hookkit.tallies
         SELECT kind, status, sum(events)::bigint FROM gone GROUP BY kind, status HAVING sum(events) <> 0`,
      );
    },
    { isDurable: false },
  );
}
