import { alone, urgent } from './protocol.ts';

/** A request that waits for its reply. */
export interface StoreRequest {
  readonly name: string;
  readonly input: unknown;
  resolve(output: unknown): void;
  reject(error: Error): void;
}

/** With more requests, a commit takes so long that the first of them wait for the last without gain. */
const MAX_BATCH = 512;
/** So many other requests go along with waiting acks, or as many as there are acks: so handlers keep half of all. */
const BESIDE_FEW_ACKS = 64;

/** Requests that wait for a connection: those that go alone first, then acks, then the others in their order. */
export class RequestQueue {
  #alone: StoreRequest[] = [];
  #urgent: StoreRequest[] = [];
  #others: StoreRequest[] = [];

  get length(): number {
    return this.#alone.length + this.#urgent.length + this.#others.length;
  }

  push(request: StoreRequest): void {
    this.#queueOf(request).push(request);
  }

  #queueOf({ name }: StoreRequest): StoreRequest[] {
    if (alone.has(name)) return this.#alone;
    return urgent.has(name) ? this.#urgent : this.#others;
  }

  /** Takes out the requests of the next batch. */
  next(): StoreRequest[] {
    const one = this.#alone.shift();
    if (one) return [one]; // with acks in its batch, each of them would have a commit of its own
    const first = this.#urgent.splice(0, MAX_BATCH);
    const room = first.length > 0 ? Math.max(BESIDE_FEW_ACKS, first.length) : MAX_BATCH;
    return first.concat(this.#others.splice(0, room));
  }

  /** Takes out all requests. */
  clear(): StoreRequest[] {
    return [...this.#alone.splice(0), ...this.#urgent.splice(0), ...this.#others.splice(0)];
  }
}
