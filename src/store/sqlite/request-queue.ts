import { urgent } from './operations/urgency.ts';

/** A call that waits for its answer. */
export interface Call {
  readonly name: string;
  readonly input: unknown;
  resolve(output: unknown): void;
  reject(error: Error): void;
}

/** Past this many calls a commit takes so long that the first in it wait for the last without gain. */
const MAX_BATCH = 512;
/** How many other calls go along with acks that wait: enough to go on, too few to be felt. */
const MAX_BESIDE_ACKS = 8;

/** Calls that wait for a store thread: acks first, then the others in their order. */
export class CallQueue {
  #urgent: Call[] = [];
  #others: Call[] = [];

  get length(): number {
    return this.#urgent.length + this.#others.length;
  }

  push(call: Call): void {
    (urgent.has(call.name) ? this.#urgent : this.#others).push(call);
  }

  /** Takes out what is to share the next commit. */
  next(): Call[] {
    const first = this.#urgent.splice(0, MAX_BATCH);
    const room = first.length > 0 ? MAX_BESIDE_ACKS : MAX_BATCH;
    return first.concat(this.#others.splice(0, room));
  }

  /** Takes out everything. */
  clear(): Call[] {
    return [...this.#urgent.splice(0), ...this.#others.splice(0)];
  }
}
