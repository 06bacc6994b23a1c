import { urgent } from './protocol.ts';

/** A request that waits for its reply. */
export interface StoreRequest {
  readonly name: string;
  readonly input: unknown;
  resolve(output: unknown): void;
  reject(error: Error): void;
}

/** With more requests, a commit takes so long that the first of them wait for the last without gain. */
const MAX_BATCH = 512;
/** So many other requests go along with waiting acks, or half as many as there are acks: so handlers keep a third of all. */
const BESIDE_FEW_ACKS = 8;

/** Requests that wait for a connection: acks first, then the others in their order. */
export class RequestQueue {
  #urgent: StoreRequest[] = [];
  #others: StoreRequest[] = [];

  get length(): number {
    return this.#urgent.length + this.#others.length;
  }

  push(request: StoreRequest): void {
    (urgent.has(request.name) ? this.#urgent : this.#others).push(request);
  }

  /** Takes out the requests of the next commit. */
  next(): StoreRequest[] {
    const first = this.#urgent.splice(0, MAX_BATCH);
    const room = first.length > 0 ? Math.max(BESIDE_FEW_ACKS, Math.ceil(first.length / 2)) : MAX_BATCH;
    return first.concat(this.#others.splice(0, room));
  }

  /** Takes out all requests. */
  clear(): StoreRequest[] {
    return [...this.#urgent.splice(0), ...this.#others.splice(0)];
  }
}
