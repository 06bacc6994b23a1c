import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { within } from '../base/pause.ts';
import type { EventStore } from '../store/event-store.ts';

const MINUTE_MS = 60_000;
const LAST_COUNT_MS = 1000;
const FULL =
  'notifications for which no secret is known are lost: the quarantine is full, or they come too fast for it';

interface LossReportOptions {
  readonly store: Pick<EventStore, 'countLost'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
}

/**
 * Logs how many notifications the quarantine had no room for, and has the store count those that never came to it: the first at once,
 * and from then on once a minute, so that a flood costs no more than a line and a commit in that time.
 */
export class LossReport {
  readonly #options: LossReportOptions;
  #sum = 0;
  #uncounted = 0;
  #isWaiting = false;
  #cancel = () => {};

  constructor(options: LossReportOptions) {
    this.#options = options;
  }

  /** @param isCounted whether the store has counted them */
  add(lost: number, isCounted: boolean): void {
    this.#sum += lost;
    if (!isCounted) this.#uncounted += lost;
    if (!this.#isWaiting) this.#say();
  }

  /** Says and counts what is left. A store that does not answer holds no stop up. */
  async stop(): Promise<void> {
    this.#cancel();
    this.#tell();
    await within(this.#options.clock, LAST_COUNT_MS, this.#count());
  }

  #say(): void {
    this.#isWaiting = this.#sum > 0 || this.#uncounted > 0;
    if (!this.#isWaiting) return;
    this.#tell();
    void this.#count();
    this.#cancel = this.#options.clock.after(MINUTE_MS, () => this.#say());
  }

  #tell(): void {
    if (this.#sum > 0) this.#options.log.warn({ lost: this.#sum }, FULL);
    this.#sum = 0;
  }

  async #count(): Promise<void> {
    const lost = this.#uncounted;
    if (lost === 0) return;
    this.#uncounted = 0;
    try {
      await this.#options.store.countLost(lost);
    } catch {
      this.#uncounted += lost; // a minute later the store may be there again
    }
  }
}
