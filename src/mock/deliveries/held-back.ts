import type { Clock } from '../../base/clock.ts';
import type { Parcel, Postman } from './postman.ts';

/** A parcel that nothing overtakes is sent after this long all the same. */
const LONGEST_MS = 5000;

interface Held {
  readonly parcel: Parcel;
  readonly cancel: () => void;
}

/** Swaps neighbours: keeps a parcel back until the next one for the same webhook has gone ahead of it. */
export class HeldBack {
  readonly #clock: Clock;
  readonly #postman: Postman;
  readonly #held = new Map<string, Held>();

  constructor(clock: Clock, postman: Postman) {
    this.#clock = clock;
    this.#postman = postman;
  }

  /** @returns false where one is held for this webhook already, which the new one may overtake */
  hold(parcel: Parcel): boolean {
    const { webhook_id } = parcel.delivery;
    if (this.#held.has(webhook_id)) return false;
    const cancel = this.#clock.after(LONGEST_MS, () => this.release(webhook_id));
    this.#held.set(webhook_id, { parcel, cancel });
    return true;
  }

  /** Sends what is held for a webhook, if anything is. */
  release(webhookId: string): void {
    const held = this.#held.get(webhookId);
    if (!held) return;
    this.#held.delete(webhookId);
    held.cancel();
    this.#postman.deliver(held.parcel);
  }

  clear(): void {
    for (const { cancel } of this.#held.values()) cancel();
    this.#held.clear();
  }
}
