import type { MonotonicClock } from '../base/clock.ts';

const MINUTE_MS = 60_000;
const MIB = 1024 * 1024;
/** Bytes a minute: about 1,200 usual notifications of one source for one webhook. */
const OF_WEBHOOK = 2 * MIB;
/** Of one source for all webhooks, as it can make their names up. */
const OF_SOURCE = 4 * MIB;
/** Of all sources together: about 10,000 usual notifications, so that their processor time stays a small part of a core. */
const OF_ALL = 16 * MIB;
/** What a request counts beside its bytes. */
const A_REQUEST = 1024;
const ALL = '';

/**
 * How much of throttled sources is read for the quarantine in a minute. Beyond it, such a source is refused by the head of its
 * requests alone.
 */
export class Allowance {
  readonly #clock: MonotonicClock;
  readonly #spent = new Map<string, number>();
  #began = Number.NEGATIVE_INFINITY;

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  /** Whether a source has used up all that it may send, whatever the webhook: this is the cheapest to ask. */
  isSpent(source: string): boolean {
    this.#turnOver();
    return this.#of(ALL) >= OF_ALL || this.#of(source) >= OF_SOURCE;
  }

  /** Takes a request out of the allowance of its source for a webhook. @returns whether there was room for it */
  take(source: string, webhookId: string, bytes: number): boolean {
    if (this.isSpent(source)) return false;
    const name = JSON.stringify([source, webhookId]);
    if (this.#of(name) >= OF_WEBHOOK) return false;
    for (const one of [ALL, source, name]) this.#spent.set(one, this.#of(one) + bytes + A_REQUEST);
    return true;
  }

  #of(name: string): number {
    return this.#spent.get(name) ?? 0;
  }

  /** Its size is bounded: each entry has used some of the allowance of all. */
  #turnOver(): void {
    const now = this.#clock.monotonic();
    if (now - this.#began < MINUTE_MS) return;
    this.#spent.clear();
    this.#began = now;
  }
}
