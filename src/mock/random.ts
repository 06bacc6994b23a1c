import { randomInt } from 'node:crypto';
import { ALPHANUMERIC, seededRandom } from '../base/seeded-random.ts';

/** How many different numbers a source draws: as many as a seed does. */
const FINENESS = 2 ** 32;

/** A source of randomness. The same seed gives the same run; without a seed, the values cannot be predicted. */
export class Random {
  /** Without one, nobody can compute its values. */
  readonly seed: number | undefined;
  #draw: () => number = () => randomInt(FINENESS) / FINENESS;

  constructor(seed: number | undefined) {
    this.seed = seed;
    this.reset();
  }

  /** Starts a seed from its beginning, so that the same values follow. */
  reset(): void {
    if (this.seed !== undefined) this.#draw = seededRandom(this.seed);
  }

  /** A number in [0, 1). */
  next(): number {
    return this.#draw();
  }

  /** A whole number in [0, below). */
  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** Whether something of this probability happens. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A string of [A-Za-z0-9]. */
  id(length: number): string {
    return Array.from({ length }, () => ALPHANUMERIC[this.int(ALPHANUMERIC.length)]).join('');
  }
}

/** A source of randomness for each part of the mock, so that the draws of one part do not change those of another. */
export function randomStreams(seed: number | undefined) {
  const root = new Random(seed);
  const stream = () => new Random(seed === undefined ? seed : root.int(FINENESS));
  return {
    webhooks: stream(),
    simulation: stream(),
    faults: stream(),
    statuses: stream(),
    refusals: stream(),
  };
}
