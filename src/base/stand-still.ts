/** Holds the whole thread for so many milliseconds: where nothing asynchronous can be waited for. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
