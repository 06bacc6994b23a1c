import type { JsonObject } from '../../notification/json.ts';
import type { FaultName } from './delivery-faults.ts';

/** One try to hand a notification over. */
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
  /** What the receiver said; the body is cut after 4 KiB. Null where no answer came. */
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
  /** The genuine notification; what a fault made of it is in the attempts. */
  readonly notification: JsonObject;
  readonly attempts: readonly Attempt[];
}
