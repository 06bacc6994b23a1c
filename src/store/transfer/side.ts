import type { Awaitable, Tables } from '../driver.ts';
import type { Form, Row } from './forms.ts';

/** How many rows a page has at most; one more row begins only below so many bytes. */
export const PAGE_ROWS = 2000;
export const PAGE_BYTES = 4 * 1024 * 1024;

/** Rows that go out of a table, and rows that come in. One with another content does both. */
export interface Change {
  readonly removed: readonly Row[];
  readonly added: readonly Row[];
}

/** The highest numbers that a database has given out. */
export interface Numbers {
  readonly event: number;
  /** of the quarantine */
  readonly entry: number;
}

/** A database on one side of a transfer. It does one thing at a time. */
export interface Side {
  /** names the database in messages; without user and password */
  readonly name: string;
  /** where its key is if it was not given; undefined where there is no such file */
  readonly keyFile: string | undefined;
  /** The next rows of a table in the order of its key; none after the last. */
  rows(form: Form, after: Row | undefined): Promise<readonly Row[]>;
  count(form: Form): Promise<number>;
  /** Changes a table in one commit. A crash of the machine may undo it until `complete`. */
  change(form: Form, change: Change): Promise<void>;
  /** Does work on the tables of the driver in one transaction. */
  transact<T>(work: (tables: Tables) => Awaitable<T>): Promise<T>;
  /**
   * Does work while no other program can change the database, or begin to use it: all of it is committed at its end, or nothing.
   * @param waitMs how long other programs may take to end, milliseconds
   * @returns undefined, and nothing is done, if other programs of ours use the database
   */
  alone<T>(waitMs: number, work: () => Promise<T>): Promise<{ readonly done: T } | undefined>;
  numbers(): Promise<Numbers>;
  /** Goes on behind these numbers, with all of the ledger taken into work, and waits until everything is on disk. */
  complete(numbers: Numbers): Promise<void>;
  close(): Promise<void>;
}
