import type { JsonObject } from '../../notification/json.ts';
import type { FaultName } from './delivery-faults.ts';

/** One attempt to deliver a notification. */
export interface Attempt {
  /** From 1. */
  readonly number: number;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly request: {
    readonly method: 'POST';
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  /** The receiver's answer, its body cut after 4 KiB; null if no answer came. */
  readonly answer: { readonly status: number; readonly body: string } | null;
  /** Why no answer came. */
  readonly error: string | null;
}

/** `delivered` once a receiver has answered 2xx; `failed` after the last attempt; `dropped` by a fault. */
export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'dropped';

/** A notification on its way to one webhook. */
export interface Delivery {
  readonly id: string;
  readonly webhook_id: string;
  readonly state: DeliveryState;
  readonly faults: readonly FaultName[];
  readonly duplicate_of: string | null;
  readonly redelivery_of: string | null;
  readonly created_at: string;
  readonly next_attempt_at: string | null;
  /** The genuine notification. The attempts show how a fault changed it. */
  readonly notification: JsonObject;
  readonly attempts: readonly Attempt[];
}

/** Which deliveries to show; an absent member does not restrict. */
export interface DeliveryFilter {
  readonly event?: string | undefined;
  readonly webhook_id?: string | undefined;
  readonly site_id?: string | undefined;
  readonly media_id?: string | undefined;
  readonly channel_id?: string | undefined;
  readonly state?: DeliveryState | undefined;
  readonly fault?: FaultName | undefined;
}

/** The deliveries, in order of creation; beyond `keep`, the oldest are forgotten. */
export class DeliveryLog {
  readonly #keep: number;
  readonly #deliveries = new Map<string, Delivery>();
  #last = 0;

  constructor(keep: number) {
    this.#keep = keep;
  }

  nextId(): string {
    return String(++this.#last);
  }

  /** Replaces a delivery's state by a new one, unless it has been forgotten. */
  update(delivery: Delivery): void {
    if (this.#deliveries.has(delivery.id)) this.#deliveries.set(delivery.id, delivery);
  }

  add(delivery: Delivery): void {
    this.#deliveries.set(delivery.id, delivery);
    if (this.#deliveries.size <= this.#keep) return;
    const [oldest] = this.#deliveries.keys();
    if (oldest !== undefined) this.#deliveries.delete(oldest);
  }

  get(id: string): Delivery | undefined {
    return this.#deliveries.get(id);
  }

  find(filter: DeliveryFilter): Delivery[] {
    return [...this.#deliveries.values()].filter((delivery) => isMatch(delivery, filter));
  }

  clear(): void {
    this.#deliveries.clear();
    this.#last = 0;
  }
}

function isMatch(delivery: Delivery, { state, fault, webhook_id, ...members }: DeliveryFilter): boolean {
  return (
    (state === undefined || delivery.state === state) &&
    (fault === undefined || delivery.faults.includes(fault)) &&
    (webhook_id === undefined || delivery.webhook_id === webhook_id) &&
    Object.entries(members).every(
      ([name, value]) => value === undefined || delivery.notification[name] === value,
    )
  );
}
