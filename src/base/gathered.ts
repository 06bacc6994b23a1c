const NOTHING = Buffer.alloc(0);
/** Memory of this size is freed at once. Smaller pieces are left to the garbage collection, which is quicker with them. */
const LARGE = 16_384;

/** Bytes that come in pieces, kept as one, as a piece of one byte would take some 200. It owns the pieces. */
export class Gathered {
  #buffer: Buffer = NOTHING;
  #start = 0;
  #end = 0;
  #isLent = false;

  get length(): number {
    return this.#end - this.#start;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  add(piece: Buffer): void {
    if (this.length === 0) {
      this.#set(piece, piece.length);
      return;
    }
    if (this.#end + piece.length > this.#buffer.length) {
      const { bytes } = this;
      // A quarter more, so that content in many pieces is not copied for each of them.
      const larger = Buffer.allocUnsafeSlow(Math.ceil(1.25 * (bytes.length + piece.length)));
      const { length } = bytes;
      bytes.copy(larger);
      this.clear();
      this.#set(larger, length);
    }
    piece.copy(this.#buffer, this.#end);
    this.#end += piece.length;
    giveBack(piece);
  }

  /** Takes bytes away from the front, for as long as `use` runs: it must not keep them. */
  take(length: number, use: (bytes: Buffer) => void): void {
    const taken = this.#buffer.subarray(this.#start, this.#start + length);
    this.#start += length;
    this.#isLent = true;
    try {
      use(taken);
    } finally {
      this.#isLent = false;
    }
    if (this.length === 0) this.clear();
  }

  /** Drops these bytes from the front, as many as stand there. */
  skip(...values: readonly number[]): void {
    while (this.length > 0 && values.includes(this.#buffer[this.#start] ?? -1)) this.#start++;
  }

  /** Drops all bytes, and frees them at once where they are many. */
  clear(): void {
    if (!this.#isLent) giveBack(this.#buffer);
    this.#set(NOTHING, 0);
  }

  #set(buffer: Buffer, end: number): void {
    this.#buffer = buffer;
    this.#start = 0;
    this.#end = end;
  }
}

/**
 * Frees the memory of bytes that nothing reads any more, of these and of all others in their buffer. Packets of 64 KiB that wait for the
 * garbage collection were a hundred megabytes of them under a flood. The buffer that Node's short ones share stays.
 */
export function giveBack({ buffer }: Uint8Array): void {
  if (buffer.byteLength < LARGE || !(buffer instanceof ArrayBuffer)) return;
  try {
    buffer.transfer(0);
  } catch {
    // Node keeps the buffer that its short ones share from being freed. Nothing else tells it from a packet of 64 KiB.
  }
}
