import { z } from 'zod';
import type { JsonObject } from '../notification/json.ts';
import { keyOf, signNotification, unsignedToken } from '../notification/token.ts';
import type { Random } from './random.ts';
import { parse } from './requests.ts';

/** The faults that make a request which no receiver should accept. A delivery gets at most one of them. */
const spoilingFaults = ['tamper', 'forge', 'alg_none', 'wrong_secret'] as const;

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

/** The probability of each fault, 0 to 1. */
export type Faults = Readonly<Record<FaultName, number>>;

const probability = z.number().min(0).max(1);

/** Some of the probabilities; the others stay as they are. */
const faultsSchema = z.partialRecord(z.enum(faultNames), probability);

/** Some of the probabilities. */
export type FaultsChange = z.input<typeof faultsSchema>;

/** How probable each fault is, and which deliveries it befalls. */
export function createFaults(random: Random) {
  const none: Faults = z
    .record(z.enum(faultNames), z.number())
    .parse(Object.fromEntries(faultNames.map((name) => [name, 0])));
  let faults = none;
  return {
    /** Sets some of the probabilities. @returns all of them @throws MockError 400 */
    set(some: unknown): Faults {
      faults = { ...faults, ...parse(faultsSchema, some) };
      return faults;
    },

    reset(): void {
      faults = none;
    },

    /** Draws the faults of one delivery. A draw is made for each, so that one probability does not change the others' luck. */
    draw(): FaultName[] {
      const drawn = faultNames.filter((name) => random.chance(faults[name]));
      if (drawn.includes('drop')) return ['drop'];
      const spoiling = spoilingFaults.find((name) => drawn.includes(name));
      return drawn.filter((name) => name === spoiling || !isSpoiled([name]));
    },
  };
}

/** Whether one of the faults makes a request which no receiver should accept. */
export function isSpoiled(faults: readonly FaultName[]): boolean {
  return spoilingFaults.some((name) => faults.includes(name));
}

/** A body and the token that goes with it. */
export interface SignedText {
  readonly body: string;
  readonly token: string;
}

/** The body and token of a delivery: those that a correct provider sends, but for its faults. */
export function signedText({ notification, faults }: Delivery, secret: string, random: Random): SignedText {
  const body = JSON.stringify(notification);
  const genuine = signed(body, secret);
  if (faults.includes('tamper'))
    return { ...genuine, body: JSON.stringify(withOtherIds(notification, random)) };
  if (faults.includes('forge'))
    return signed(JSON.stringify(withOtherIds(notification, random)), random.id(48));
  if (faults.includes('alg_none')) return { body, token: unsignedToken(body) };
  if (faults.includes('wrong_secret')) return signed(body, random.id(48));
  return genuine;
}

function signed(body: string, secret: string): SignedText {
  return { body, token: signNotification(body, keyOf(secret)) };
}

/** The members that route a notification to its secret, or that it would be refused for at once. */
const KEPT = new Set(['event', 'webhook_id', 'site_id', 'event_time']);

/** The same notification with other ids; with one more member if it has no ids. */
function withOtherIds(notification: JsonObject, random: Random): JsonObject {
  const ids = Object.entries(notification).filter(
    ([name, value]) => !KEPT.has(name) && typeof value === 'string',
  );
  if (ids.length === 0) return { ...notification, note: random.id(8) };
  return { ...notification, ...Object.fromEntries(ids.map(([name]) => [name, random.id(8)])) };
}
