/** How many bytes share one piece of memory; a longer line has one of its own. */
const PIECE = 65_536;

interface Piece {
  readonly bytes: Buffer;
  length: number;
}

/**
 * Lines that wait, whole and in their order, in memory of their own. `Buffer.from` takes short texts from a pool, which others use up meanwhile: a line
 * that waits would keep 64 KB of it, however short it is.
 */
export class WaitingLines {
  #pieces: Piece[] = [];
  #held = 0;

  /** how many bytes of memory they take */
  get held(): number {
    return this.#held;
  }

  /** How much more memory one more line takes, of so many bytes. */
  costOf(length: number): number {
    const last = this.#pieces.at(-1);
    return last && last.length + length <= last.bytes.length ? 0 : Math.max(PIECE, length);
  }

  add(line: string): void {
    const length = Buffer.byteLength(line);
    const cost = this.costOf(length);
    let last = this.#pieces.at(-1);
    if (!last || cost > 0) {
      last = { bytes: Buffer.allocUnsafeSlow(cost), length: 0 };
      this.#pieces.push(last);
      this.#held += cost;
    }
    last.bytes.write(line, last.length);
    last.length += length;
  }

  /** Takes out the first lines: as many as share their memory; of no line, nothing. */
  takeFirst(): Buffer | undefined {
    const first = this.#pieces.shift();
    this.#held -= first?.bytes.length ?? 0;
    return first?.bytes.subarray(0, first.length);
  }

  takeAll(): Buffer[] {
    const all = this.#pieces.map(({ bytes, length }) => bytes.subarray(0, length));
    this.#pieces = [];
    this.#held = 0;
    return all;
  }
}
