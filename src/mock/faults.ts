import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { JsonObject } from '../notification/json.ts';
import { keyOf, signNotification, unsignedToken } from '../notification/token.ts';
import type { Random } from './random.ts';

/** The faults that make a request which no receiver should accept. */
const spoilingFaults = ['tamper', 'forge', 'alg_none', 'wrong_secret'] as const;

/** The faults that change a token or its body. A delivery gets at most one of them. */
const tokenFaults = [...spoilingFaults, 'reformat'] as const;

/** The faults of deliveries. */
export const faultNames = ['drop', 'duplicate', 'reorder', 'delay', ...tokenFaults] as const;

/** The name of a fault of a delivery. */
export type FaultName = (typeof faultNames)[number];

/** The faults of the webhooks API: codes of errors that it gives for no other reason. */
const refusalNames = ['forbidden', 'conflict', 'unprocessable'] as const;

const allNames = z.enum([...faultNames, ...refusalNames]);

/** The probability of each fault, 0 to 1. */
export type Faults = Readonly<Record<z.output<typeof allNames>, number>>;

export const NO_FAULTS: Faults = z.record(allNames, z.number().default(0)).parse({});

/** Some of the probabilities; the others stay as they are. */
export const faultsSchema = z.partialRecord(allNames, z.number().min(0).max(1));

/** Some of the probabilities. */
export type FaultsChange = z.input<typeof faultsSchema>;

/** Draws the faults of one delivery. A draw is made for each, so that one probability does not change the others' luck. */
export function drawFaults(faults: Faults, random: Random): FaultName[] {
  const drawn = faultNames.filter((name) => random.chance(faults[name]));
  if (drawn.includes('drop')) return ['drop'];
  const ofToken = tokenFaults.find((name) => drawn.includes(name));
  return drawn.filter((name) => name === ofToken || !tokenFaults.some((one) => one === name));
}

/** Draws the fault of one request to the webhooks API. What only reads conflicts with nothing. */
export function drawRefusal(faults: Faults, random: Random, isReading: boolean) {
  const drawn = refusalNames.filter((name) => random.chance(faults[name]));
  return drawn.find((name) => name === 'forbidden' || !isReading);
}

/** Whether one of the faults makes a request which no receiver should accept. */
export function isSpoiled(faults: readonly FaultName[]): boolean {
  return spoilingFaults.some((name) => faults.includes(name));
}

/** The parts that make a delivery. */
interface Notice {
  readonly notification: JsonObject;
  readonly faults: readonly FaultName[];
}

/** The body and token of a delivery: those that a correct provider sends, but for its faults. */
export function signedText({ notification, faults }: Notice, secret: string, random: Random) {
  const body = JSON.stringify(notification);
  const genuine = signed(body, secret);
  const changed = () => JSON.stringify(withOtherIds(notification, random));
  if (faults.includes('tamper')) return { ...genuine, body: changed() };
  if (faults.includes('forge')) return signed(changed(), random.id(48));
  if (faults.includes('alg_none')) return { body, token: unsignedToken(body) };
  if (faults.includes('wrong_secret')) return signed(body, random.id(48));
  if (faults.includes('reformat')) return { body, token: reformattedToken(notification, secret) };
  return genuine;
}

function signed(body: string, secret: string) {
  return { body, token: signNotification(body, keyOf(secret)) };
}

/** A genuine token, written in another way: the members of its header in another order, and white space in header and claims. */
function reformattedToken(notification: JsonObject, secret: string): string {
  const parts = ['{"typ": "JWT", "alg": "HS256"}', JSON.stringify(notification, null, 1)];
  const text = parts.map((part) => Buffer.from(part).toString('base64url')).join('.');
  return `${text}.${createHmac('sha256', keyOf(secret)).update(text).digest('base64url')}`;
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
