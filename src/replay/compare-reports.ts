import Database from 'better-sqlite3';
import { KitError, messageOf } from '../base/errors.ts';
import type { Outcome } from './report-file.ts';

export type Side = 'a' | 'b';

/** An event that did not end alike in both reports. */
export interface Difference {
  readonly id: string;
  readonly kind: string;
  readonly resource: string;
  /** null where this report does not have it */
  readonly a: string | null;
  readonly b: string | null;
}

export interface Counts {
  readonly alike: number;
  readonly changed: number;
  readonly onlyA: number;
  readonly onlyB: number;
}

const CACHE_KIB = 16_384;

const reportTable = (side: Side) => `
  CREATE TABLE ${side} (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT, resource TEXT, outcome TEXT);`;

/**
 * Two reports of any length and in any order, in a database without a name: SQLite keeps it in a file that is gone from
 * its directory as soon as it is open, so that nothing is left however the command ends.
 */
export class ReportPair {
  readonly #db = new Database('');
  readonly #inserts: Readonly<Record<Side, Database.Statement<unknown[]>>>;

  constructor() {
    this.#db.pragma('journal_mode = OFF');
    this.#db.pragma(`cache_size = -${CACHE_KIB}`);
    this.#db.exec(`BEGIN; ${reportTable('a')} ${reportTable('b')}`);
    // Of an event that was sent more than once, every outcome counts.
    const insert = (side: Side) =>
      this.#db.prepare(
        `INSERT INTO ${side} (id, kind, resource, outcome) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, resource = excluded.resource,
           outcome = outcome || ', ' || excluded.outcome`,
      );
    this.#inserts = { a: insert('a'), b: insert('b') };
  }

  /** @throws KitError OUTPUT_FAILED where there is no room for it */
  add(side: Side, { id, kind, resource }: Outcome, outcome: string): void {
    roomFor(() => this.#inserts[side].run(id, kind, resource, outcome));
  }

  /**
   * Finds what differs, once all is added.
   * @throws KitError OUTPUT_FAILED where there is no room for it
   */
  compare(): Counts {
    return roomFor(() => this.#compare());
  }

  #compare(): Counts {
    this.#db.exec(`
      CREATE TABLE difference AS
        SELECT a.id, a.kind, a.resource, a.outcome AS a, b.outcome AS b FROM a LEFT JOIN b USING (id)
        WHERE b.outcome IS NOT a.outcome ORDER BY a.number;
      INSERT INTO difference
        SELECT id, kind, resource, NULL, outcome FROM b WHERE id NOT IN (SELECT id FROM a) ORDER BY number`);
    const counts = this.#db.prepare<[], Counts>(
      `SELECT (SELECT count(*) FROM a) - count(a) AS alike, count(a) FILTER (WHERE b IS NOT NULL) AS changed,
         count(*) FILTER (WHERE b IS NULL) AS onlyA, count(*) FILTER (WHERE a IS NULL) AS onlyB
       FROM difference`,
    );
    return counts.get() ?? { alike: 0, changed: 0, onlyA: 0, onlyB: 0 };
  }

  /** What differs: first in the order of A, then what B alone has. */
  differences(): Iterable<Difference> {
    return this.#db.prepare<[], Difference>('SELECT * FROM difference ORDER BY rowid').iterate();
  }

  close(): void {
    this.#db.close();
  }
}

function roomFor<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new KitError(
      'OUTPUT_FAILED',
      `cannot keep the reports in the temporary directory (TMPDIR): ${messageOf(cause)}`,
      { cause },
    );
  }
}
