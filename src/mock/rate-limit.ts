import type { Clock } from '../base/clock.ts';

const WINDOW_MS = 60_000;

/** Counts the requests of each credential in windows of a minute, each opened by its first request. */
export class RateLimit {
  readonly limit: number;
  readonly #clock: Clock;
  readonly #windows = new Map<string, { readonly end: number; used: number }>();

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.limit = limit;
  }

  /** @returns how many requests are left after this one; negative where it is one too many */
  take(credential: string): number {
    const now = this.#clock.now();
    const open = this.#windows.get(credential);
    const window = open && now < open.end ? open : { end: now + WINDOW_MS, used: 0 };
    this.#windows.set(credential, window);
    window.used++;
    return this.limit - window.used;
  }

  clear(): void {
    this.#windows.clear();
  }
}
