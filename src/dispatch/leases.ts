import type { MonotonicClock } from '../base/clock.ts';
import { repeat } from '../base/pause.ts';
import type { Claim, EventStore } from '../store/event-store.ts';
import { LeaseLost } from './once.ts';
import { giveUp } from './run-handler.ts';

/** An event that is leased, from its claim until its result is stored. */
export interface Leased {
  readonly claim: Claim;
  readonly abort: AbortController;
  /** when its lease was asked for, or last renewed, by the monotonic clock: it lasts from then on at least */
  leasedAt: number;
  isLost: boolean;
}

interface LeasesOptions {
  readonly store: Pick<EventStore, 'renew'>;
  readonly clock: MonotonicClock;
  readonly leaseMs: number;
  /** told why leases could not be renewed; that is tried again soon */
  readonly onError: (error: unknown) => void;
}

/** How often leases are renewed while they last. */
const RENEWALS = 3;
/** How often they are looked at between two renewals, at least. */
const LOOKS = 10;
const LONGEST_LOOK_MS = 1000;

/**
 * Renews the leases of all that runs here or waits to be stored. A handler is aborted when its lease is lost, and just before it runs out
 * unrenewed: from then on another process may run its event.
 */
export class Leases {
  readonly #options: LeasesOptions;
  readonly #all: ReadonlySet<Leased>;
  readonly #lookMs: number;
  /** how long after one renewal the next is due, milliseconds */
  readonly renewalMs: number;
  #renewAt = 0;
  #isRenewing = false;

  /** @param all what is leased now */
  constructor(options: LeasesOptions, all: ReadonlySet<Leased>) {
    this.#options = options;
    this.#all = all;
    this.renewalMs = options.leaseMs / RENEWALS;
    this.#lookMs = Math.min(this.renewalMs / LOOKS, LONGEST_LOOK_MS);
  }

  /** @returns a function that ends it */
  start(): () => void {
    const { clock } = this.#options;
    this.#renewAt = clock.monotonic() + this.renewalMs;
    return repeat(clock, this.#lookMs, async () => {
      this.#look();
      return this.#lookMs;
    });
  }

  #look(): void {
    const { clock, leaseMs } = this.#options;
    const now = clock.monotonic();
    const before = now - leaseMs + 2 * this.#lookMs; // the next look may come late
    for (const leased of this.#all)
      if (leased.leasedAt <= before) lose(leased, 'the lease was not renewed in time');
    if (now >= this.#renewAt && !this.#isRenewing) void this.#renew();
  }

  async #renew(): Promise<void> {
    const { store, clock, leaseMs, onError } = this.#options;
    const list = [...this.#all].filter(({ isLost }) => !isLost);
    const askedAt = clock.monotonic();
    this.#isRenewing = true;
    try {
      const names = list.map(({ claim }) => claim);
      const held = new Set(list.length > 0 ? await store.renew(names, leaseMs) : []);
      for (const leased of list) {
        if (held.has(leased.claim.lease)) leased.leasedAt = askedAt;
        else if (this.#all.has(leased)) {
          leased.isLost = true;
          lose(leased, 'the lease is lost');
        }
      }
      this.#renewAt = askedAt + this.renewalMs;
    } catch (error) {
      onError(error); // and the next look tries again
    }
    this.#isRenewing = false;
  }
}

function lose({ claim, abort }: Leased, why: string): void {
  if (!abort.signal.aborted) giveUp(claim, abort, new LeaseLost(why));
}
