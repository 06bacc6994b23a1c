/** A timer in a queue. */
export interface Timer {
  /** Milliseconds since the Unix epoch. */
  readonly due: number;
  readonly order: number;
  readonly fn: () => unknown;
  /** Where in the heap it is; undefined once it has left. */
  place: number | undefined;
}

/** Timers in order of due time, then of creation: a binary heap, as simulations keep tens of thousands waiting. */
export class TimerQueue {
  readonly #heap: Timer[] = [];
  #created = 0;

  /** The timer that is due first. */
  first(): Timer | undefined {
    return this.#heap[0];
  }

  add(due: number, fn: () => unknown): Timer {
    const timer: Timer = { due, order: this.#created++, fn, place: this.#heap.length };
    this.#heap.push(timer);
    this.#rise(timer, this.#heap.length - 1);
    return timer;
  }

  /** Removes a timer; nothing happens if it was removed already. */
  remove(timer: Timer): void {
    const { place } = timer;
    if (place === undefined) return;
    timer.place = undefined;
    const last = this.#heap.pop();
    if (last === undefined || last === timer) return;
    this.#rise(last, place);
    this.#sink(last, last.place ?? place);
  }

  #rise(timer: Timer, from: number): void {
    let place = from;
    while (place > 0) {
      const parent = this.#heap[(place - 1) >> 1];
      if (parent === undefined || isBefore(parent, timer)) break;
      this.#put(parent, place);
      place = (place - 1) >> 1;
    }
    this.#put(timer, place);
  }

  #sink(timer: Timer, from: number): void {
    let place = from;
    for (;;) {
      const left = this.#heap[2 * place + 1];
      const right = this.#heap[2 * place + 2];
      if (left === undefined) break;
      const child = right !== undefined && isBefore(right, left) ? right : left;
      if (isBefore(timer, child)) break;
      const next = child === left ? 2 * place + 1 : 2 * place + 2;
      this.#put(child, place);
      place = next;
    }
    this.#put(timer, place);
  }

  #put(timer: Timer, place: number): void {
    this.#heap[place] = timer;
    timer.place = place;
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.due < other.due || (one.due === other.due && one.order < other.order);
}
