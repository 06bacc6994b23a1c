/** How to undo what a transaction has changed so far, the latest change last. */
export type UndoLog = (() => void)[];

/** Rows by key, in no order. No row is changed in place: to undo a change, the former row takes its place again. */
export class Table<K, R> {
  readonly #rows = new Map<K, R>();
  readonly #undo: UndoLog;

  constructor(undo: UndoLog) {
    this.#undo = undo;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(key: K): R | undefined {
    return this.#rows.get(key);
  }

  all(): R[] {
    return [...this.#rows.values()];
  }

  entries(): [K, R][] {
    return [...this.#rows];
  }

  set(key: K, row: R): void {
    this.#change(key, row);
  }

  delete(key: K): void {
    this.#change(key, undefined);
  }

  clear(): void {
    for (const key of [...this.#rows.keys()]) this.delete(key);
  }

  #change(key: K, row: R | undefined): void {
    const before = this.#rows.get(key);
    this.#undo.push(() => this.#put(key, before));
    this.#put(key, row);
  }

  #put(key: K, row: R | undefined): void {
    if (row === undefined) this.#rows.delete(key);
    else this.#rows.set(key, row);
  }
}
