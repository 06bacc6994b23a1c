import { z } from 'zod';
import type { JsonObject } from '../notification/json.ts';

/** The faults that make a request which no receiver should accept. A delivery gets at most one of them. */
export const spoilingFaults = ['tamper', 'forge', 'alg_none', 'wrong_secret'] as const;

/** The faults of deliveries. */
export const faultNames = ['drop', 'duplicate', 'reorder', 'delay', ...spoilingFaults] as const;

/** The name of a fault. */
export type FaultName = (typeof faultNames)[number];

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

const states = ['pending', 'delivered', 'failed', 'dropped'] as const;

/** `delivered` once a receiver has answered 2xx; `failed` after the last attempt; `dropped` by a fault. */
export type DeliveryState = (typeof states)[number];

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
export const filterSchema = z
  .strictObject({
    event: z.string(),
    webhook_id: z.string(),
    site_id: z.string(),
    media_id: z.string(),
    channel_id: z.string(),
    state: z.enum(states),
    fault: z.enum(faultNames),
  })
  .partial();

export type DeliveryFilter = z.output<typeof filterSchema>;
