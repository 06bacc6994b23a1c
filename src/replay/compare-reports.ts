import { createReadStream } from 'node:fs';
import Database from 'better-sqlite3';
import { KitError, messageOf } from '../base/errors.ts';
import { linesOf } from './recording-lines.ts';
import { type Outcome, parseOutcome } from './report-file.ts';

/** An event that did not end alike in both reports. */
export interface Difference {
  readonly id: string;
  readonly kind: string;
  readonly resource: string;
  /** null if this report does not have the event */
  readonly a: string | null;
  readonly b: string | null;
}

export interface Counts {
  readonly alike: number;
  readonly changed: number;
  readonly onlyA: number;
  readonly onlyB: number;
}

/** A report file, and how errors name it. */
export interface ReportFile {
  readonly path: string;
  readonly name: string;
}

export interface Comparing {
  /** compares the first lines of reasons too */
  readonly reasons?: boolean | undefined;
  /** called for each line that is not one of a report */
  readonly onBroken: (report: string, line: number) => void;
}

export interface Comparison extends Counts {
  /** lines that are not lines of a report */
  readonly broken: number;
  /** The events that did not end alike: first in the order of A, then those of B alone. They can be read again. */
  differences(): Iterable<Difference>;
}

/**
 * Compares two reports and works with the result. The reports may be of any length, with their lines in any order.
 * @throws KitError INPUT_INVALID if a report cannot be read, OUTPUT_FAILED if there is no room in the temporary directory
 */
export async function compareReports<T>(
  reports: { readonly a: ReportFile; readonly b: ReportFile },
  { reasons = false, onBroken }: Comparing,
  work: (comparison: Comparison) => Promise<T>,
): Promise<T> {
  const pair = new ReportPair();
  const read = (side: Side) =>
    readReport(reports[side], onBroken, (event) => {
      // The lines behind the first are stacks, whose paths differ between two checkouts.
      const [reason] = (reasons ? event.reason : undefined)?.split('\n', 1) ?? [];
      pair.add(side, event, reason === undefined ? event.outcome : `${event.outcome} (${reason})`);
    });
  try {
    const broken = (await read('a')) + (await read('b'));
    return await work({ ...pair.compare(), broken, differences: () => pair.differences() });
  } finally {
    pair.close();
  }
}

/** Tells how many lines are broken. */
async function readReport(
  { path, name }: ReportFile,
  onBroken: Comparing['onBroken'],
  add: (outcome: Outcome) => void,
): Promise<number> {
  let broken = 0;
  try {
    for await (const { number, text } of linesOf(createReadStream(path))) {
      const outcome = text === undefined ? undefined : parseOutcome(text);
      if (outcome) {
        add(outcome);
        continue;
      }
      broken++;
      onBroken(name, number);
    }
  } catch (cause) {
    if (cause instanceof KitError) throw cause;
    throw new KitError('INPUT_INVALID', `cannot read the report ${name}: ${messageOf(cause)}`, { cause });
  }
  return broken;
}

type Side = 'a' | 'b';

const CACHE_KIB = 16_384;

const reportTable = (side: Side) => `
  CREATE TABLE ${side} (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT, resource TEXT, outcome TEXT);`;

/**
 * Two reports in a database without a name: SQLite removes its file from the directory as soon as it is open, so that
 * nothing is left of it, however the process ends.
 */
class ReportPair {
  readonly #db = new Database('');
  readonly #inserts: Readonly<Record<Side, Database.Statement<unknown[]>>>;

  constructor() {
    this.#db.pragma('journal_mode = OFF');
    this.#db.pragma(`cache_size = -${CACHE_KIB}`);
    this.#db.exec(`BEGIN; ${reportTable('a')} ${reportTable('b')}`);
    // If an event was sent more than once, every outcome counts.
    const insert = (side: Side) =>
      this.#db.prepare(
        `INSERT INTO ${side} (id, kind, resource, outcome) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, resource = excluded.resource,
           outcome = outcome || ', ' || excluded.outcome`,
      );
    this.#inserts = { a: insert('a'), b: insert('b') };
  }

  add(side: Side, { id, kind, resource }: Outcome, outcome: string): void {
    roomFor(() => this.#inserts[side].run(id, kind, resource, outcome));
  }

  /** Finds the differences, once all outcomes are added. */
  compare(): Counts {
    roomFor(() =>
      this.#db.exec(`
      CREATE TABLE difference AS
        SELECT a.id, a.kind, a.resource, a.outcome AS a, b.outcome AS b FROM a LEFT JOIN b USING (id)
        WHERE b.outcome IS NOT a.outcome ORDER BY a.number;
      INSERT INTO difference
        SELECT id, kind, resource, NULL, outcome FROM b WHERE id NOT IN (SELECT id FROM a) ORDER BY number`),
    );
    const counts = this.#db.prepare<[], Counts>(
      `SELECT (SELECT count(*) FROM a) - count(a) AS alike, count(a) FILTER (WHERE b IS NOT NULL) AS changed,
         count(*) FILTER (WHERE b IS NULL) AS onlyA, count(*) FILTER (WHERE a IS NULL) AS onlyB
       FROM difference`,
    );
    return counts.get() ?? { alike: 0, changed: 0, onlyA: 0, onlyB: 0 };
  }

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
