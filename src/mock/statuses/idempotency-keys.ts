import type { Clock } from '../../base/clock.ts';
import type { Account } from './accounts.ts';

/** How long a key is remembered, in milliseconds. */
export const KEY_LIFETIME = 3_600_000;

/** The status that the first request with a key made. */
export interface Made {
  readonly kind: 'scheduled' | 'published';
  readonly id: number;
}

/** Remembers for each user which `Idempotency-Key` made what. */
export class IdempotencyKeys {
  readonly #clock: Clock;
  readonly #made = new Map<string, Made & { readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  find(account: Account, key: string): Made | undefined {
    const made = this.#made.get(`${account.id}:${key}`);
    return made !== undefined && made.until > this.#clock.now() ? made : undefined;
  }

  remember(account: Account, key: string, made: Made): void {
    this.#forgetOld();
    this.#made.set(`${account.id}:${key}`, { ...made, until: this.#clock.now() + KEY_LIFETIME });
  }

  clear(): void {
    this.#made.clear();
  }

  #forgetOld(): void {
    for (const [key, { until }] of this.#made) if (until <= this.#clock.now()) this.#made.delete(key);
  }
}
