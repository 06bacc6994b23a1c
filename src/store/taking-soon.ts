import type { Clock } from '../base/clock.ts';

/** How long lists may lag behind the ledger. */
const WITHIN_MS = 250;

/** Has what is recorded taken into work soon, where no claim does so before. */
export class TakingSoon {
  readonly #clock: Clock;
  readonly #take: () => Promise<boolean>;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  /** @param take tells whether it has taken all */
  constructor(clock: Clock, take: () => Promise<boolean>) {
    this.#clock = clock;
    this.#take = take;
  }

  /** Tells that something is being recorded. */
  recorded(): void {
    if (this.#isStopped) return;
    this.#cancel ??= this.#clock.after(WITHIN_MS, async () => {
      this.#cancel = undefined; // what is recorded from now on may come too late for this one
      const isAll = await this.#take().catch(() => false);
      if (!isAll) this.recorded();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }
}
