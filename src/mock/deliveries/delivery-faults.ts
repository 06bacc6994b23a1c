import { z } from 'zod';
import type { Random } from '../random.ts';

/** The faults of deliveries. A delivery gets at most one of the last four. */
export const faultNames = [
  'drop',
  'duplicate',
  'reorder',
  'delay',
  'tamper',
  'forge',
  'alg_none',
  'wrong_secret',
] as const;

/** The name of a fault. */
export type FaultName = (typeof faultNames)[number];

/** The faults that make a request which no receiver should accept. */
export const spoilingFaults = ['tamper', 'forge', 'alg_none', 'wrong_secret'] as const satisfies FaultName[];

/** A fault that spoils the request. */
export type SpoilingFault = (typeof spoilingFaults)[number];

/** The probability of each fault, 0 to 1. */
export type Faults = Readonly<Record<FaultName, number>>;

const probability = z.number().min(0).max(1).optional();

/** Some of the probabilities; the others stay as they are. */
export const faultsSchema = z.strictObject({
  drop: probability,
  duplicate: probability,
  reorder: probability,
  delay: probability,
  tamper: probability,
  forge: probability,
  alg_none: probability,
  wrong_secret: probability,
} satisfies Record<FaultName, unknown>);

/** Some of the probabilities. */
export type FaultsChange = z.input<typeof faultsSchema>;

/** No faults at all. */
export const noFaults: Faults = {
  drop: 0,
  duplicate: 0,
  reorder: 0,
  delay: 0,
  tamper: 0,
  forge: 0,
  alg_none: 0,
  wrong_secret: 0,
};

/** Draws the faults of one delivery. A draw is made for each, so that one probability does not change the others' luck. */
export function drawFaults(faults: Faults, random: Random): FaultName[] {
  const drawn = faultNames.filter((name) => random.chance(faults[name]));
  if (drawn.includes('drop')) return ['drop'];
  const spoiling = spoilingFaults.find((name) => drawn.includes(name));
  return drawn.filter((name) => name === spoiling || !isSpoiling(name));
}

/** Whether a fault spoils the request. */
export function isSpoiling(name: FaultName): name is SpoilingFault {
  return spoilingFaults.some((one) => one === name);
}
