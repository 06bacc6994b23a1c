/** Many event ids in little memory: as text outside of the heap, 31 bytes each. */
export class IdList {
  readonly #pages: Buffer[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(ids: readonly string[]): void {
    if (ids.length === 0) return;
    this.#pages.push(Buffer.from(ids.join('\n')));
    this.#length += ids.length;
  }

  /** The ids, as many at a time as were added at a time. */
  *pages(): Generator<string[]> {
    for (const page of this.#pages) yield page.toString().split('\n');
  }
}
