import type { Clock } from '../base/clock.ts';

/** How long lists may lag behind the ledger. */
const WITHIN_MS = 250;

/** Has what is recorded taken into work soon, where no claim does so before. */
export class TakingSoon {
  readonly #clock: Clock;
  readonly #take: () => Promise<boolean>;
  #cancel: (() => void) | undefined;
  #isTaking = false;
  #isStopped = false;
  #behindSince: number | undefined;

  /** @param take tells whether it has taken all */
  constructor(clock: Clock, take: () => Promise<boolean>) {
    this.#clock = clock;
    this.#take = take;
  }

  /** Tells that something is being recorded. */
  recorded(): void {
    if (this.#isStopped) return;
    this.#behindSince ??= this.#clock.now();
    this.#cancel ??= this.#clock.after(WITHIN_MS, () => this.#takeAll());
  }

  async #takeAll(): Promise<void> {
    this.#cancel = undefined; // what is recorded from now on may come too late for this one
    if (this.#isTaking) {
      this.recorded(); // two at once would wait for each other, and acks for both
      return;
    }
    this.#isTaking = true;
    try {
      let began: number;
      do {
        if (this.#isStopped) return;
        began = this.#clock.now();
      } while (!(await this.#take())); // acks come through between two of them
      this.#behindSince = this.#cancel && began;
    } catch {
      this.recorded();
    } finally {
      this.#isTaking = false;
    }
  }

  /** When the first was recorded that may not be taken in yet, or a little before; undefined if all is. */
  get behindSince(): number | undefined {
    return this.#behindSince;
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }
}
