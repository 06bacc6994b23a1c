import { z } from 'zod';
import type { JsonObject } from '../notification/json.ts';
import { keyOf, signNotification } from '../notification/token.ts';
import { type Delivery, type FaultName, faultNames, spoilingFaults } from './delivery.ts';
import type { Random } from './random.ts';
import { parse } from './requests.ts';

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
  if (faults.includes('alg_none'))
    return { body, token: `${base64url('{"alg":"none","typ":"JWT"}')}.${base64url(body)}.` };
  if (faults.includes('wrong_secret')) return signed(body, random.id(48));
  return genuine;
}

function signed(body: string, secret: string): SignedText {
  return { body, token: signNotification(body, keyOf(secret)) };
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
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
