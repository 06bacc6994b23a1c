import { availableParallelism } from 'node:os';
import type { MonotonicClock } from '../../base/clock.ts';

/**
 * For how long a thread waits with its eyes open. To wake one that sleeps costs the thread that posts to it some 80 µs where the machine
 * is a virtual one, as long as all the work for an event.
 */
const AWAKE_MS = 0.3;

/** After batches of so many requests at most: of more, several are on the way, and the processors have something to do. */
const FEW = 2;
/** Events that run in turn make batches of these. What clients wait for makes others, and wants the processor itself. */
const OF_DISPATCH: ReadonlySet<string> = new Set(['claim', 'settle']);
/** After more than so many batches of these alone. */
const IN_A_ROW = 8;

/**
 * Keeps the event loop of a thread from going to sleep while the next message is about to come, as where events of one resource run in turn
 * and each batch waits for the one before. It goes by the last time, so that a pause costs this once. A machine with one processor needs
 * it for the other thread.
 */
export class StayingAwake {
  readonly #clock: Pick<MonotonicClock, 'monotonic'>;
  readonly #isPossible: boolean;
  #since = Number.NEGATIVE_INFINITY;
  #isWaiting = false;
  #isAwake = false;
  #wasSoon = false;
  #inARow = 0;

  /** @param processors how many this process may use */
  constructor(clock: Pick<MonotonicClock, 'monotonic'>, processors = availableParallelism()) {
    this.#clock = clock;
    this.#isPossible = processors > 1;
  }

  /** A message is awaited from now on. @param batch what was posted, or replied to */
  awaits(batch: readonly { readonly name: string }[]): void {
    this.#since = this.#clock.monotonic();
    this.#isWaiting = true;
    this.#inARow = batch.every(({ name }) => OF_DISPATCH.has(name)) ? this.#inARow + 1 : 0;
    const isWorthwhile = this.#wasSoon && batch.length <= FEW && this.#inARow > IN_A_ROW;
    if (!isWorthwhile || !this.#isPossible || this.#isAwake) return;
    this.#isAwake = true;
    setImmediate(this.#goOn);
  }

  /** It came. */
  came(): void {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#wasSoon = this.#isSoon;
  }

  get #isSoon(): boolean {
    return this.#clock.monotonic() - this.#since < AWAKE_MS;
  }

  readonly #goOn = (): void => {
    this.#isAwake = this.#isWaiting && this.#isSoon;
    if (this.#isAwake) setImmediate(this.#goOn);
  };
}
