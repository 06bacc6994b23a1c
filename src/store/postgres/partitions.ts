import type { Database } from './database.ts';
import { codeOf, NO_RIGHT, reasonOf } from './reasons.ts';

/** How many months are made ahead. */
const AHEAD = 2;
/** For how many months before this one partitions are made, where rows of that time come in: a wrong clock may give any time. */
const BACK = 240;

/**
 * Makes the partitions of this month and the next two. Without one of its own, a row goes to the partition of all others:
 * nothing fails if this comes too late.
 * @returns why one cannot be made until somebody does something; undefined where none is needed, or all are there
 */
export async function makePartitions(database: Database, now: number): Promise<string | undefined> {
  let refusal: string | undefined;
  for (const partition of partitionsFrom(now, AHEAD)) {
    // Another process makes it, or a long query is in the way: there is time.
    await makePartition(database, partition).catch((error) => {
      const why =
        codeOf(error) === HAS_ROWS ? rowsIn(partition) : codeOf(error) === NO_RIGHT && reasonOf(error);
      if (why) refusal ??= `${partition.name} cannot be made: ${why}`;
    });
  }
  return refusal;
}

/** The SQLSTATE of a partition that should have rows which are in that of all others. */
const HAS_ROWS = '23514';

const rowsIn = ({ table }: Partition) =>
  `${table}_other has rows of that month; nothing is lost, and docs/scaling.md ("Partitions") says how to move them`;

/** The partitions of this month and of so many after it. */
export function partitionsOf(now: number, ahead: number): readonly string[] {
  return partitionsFrom(now, ahead).map(({ name }) => name);
}

/** What a table has of one month. */
interface Partition {
  /** such as hookkit.bodies_2026_11 */
  readonly name: string;
  readonly table: string;
  /** the time that decides */
  readonly column: string;
  readonly from: number;
  readonly to: number;
}

function partitionsFrom(now: number, ahead: number): Partition[] {
  return Array.from({ length: ahead + 1 }, (_, index) => partitionsAt(monthOf(now, index))).flat();
}

/** The first moment of the month of a time, or of one so many months after it. */
function monthOf(time: number, after = 0): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + after);
}

/** @param from the first moment of a month */
function partitionsAt(from: number): Partition[] {
  const to = monthOf(from, 1);
  const month = new Date(from).toISOString().slice(0, 7).replace('-', '_');
  return PARTITIONED.map(({ table, column }) => ({ name: `${table}_${month}`, table, column, from, to }));
}

/** Makes the partitions of rows that were received or started long ago, before they come in. */
export class FormerPartitions {
  readonly #database: Database;
  readonly #now: number;
  readonly #known = new Set<number>();

  constructor(database: Database, now: number) {
    this.#database = database;
    this.#now = now;
  }

  async makeFor(times: readonly number[]): Promise<void> {
    const [first, last] = [monthOf(this.#now, -BACK), monthOf(this.#now, AHEAD + 1)];
    const months = new Set(times.filter((time) => time >= first && time < last).map((time) => monthOf(time)));
    for (const month of months) {
      if (this.#known.has(month)) continue;
      this.#known.add(month);
      for (const partition of partitionsAt(month)) {
        // Rows of this month are in the partition of all others already, and so are these then.
        await makePartition(this.#database, partition).catch(() => undefined);
      }
    }
  }
}

const PARTITIONED = [
  { table: 'hookkit.bodies', column: 'received_at' },
  { table: 'hookkit.attempts', column: 'started_at' },
];

/** Attached, not made in place: that waits for nobody who reads or writes other partitions. */
async function makePartition(
  database: Database,
  { name, table, column, from, to }: Partition,
): Promise<void> {
  const [known] = await database.statements.rows<{ known: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS known',
    [name],
  );
  if (known?.known) return;
  await database.transaction(async (session) => {
    await session.rows("SET LOCAL lock_timeout = '1s'");
    await session.rows(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL,
      CHECK (${column} >= ${from} AND ${column} < ${to}))`);
    await session.rows(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${to})`);
  });
}
