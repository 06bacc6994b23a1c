import { randomInt } from 'node:crypto';
import { ALPHANUMERIC, seededRandom } from '../base/seeded-random.ts';

/** How many different numbers a source draws: as many as a seed does. */
const FINENESS = 2 ** 32;

/** A source of randomness. The same seed gives the same run; without a seed, the values cannot be predicted. */
export class Random {
  readonly #seed: number | undefined;
  #draw: () => number;

  constructor(seed: number | undefined) {
    this.#seed = seed;
    this.#draw = drawn(seed);
  }

  /** Whether others can compute its values. */
  get isSeeded(): boolean {
    return this.#seed !== undefined;
  }

  /** A separate source for one part of the mock. */
  stream(): Random {
    return new Random(this.isSeeded ? this.int(FINENESS) : undefined);
  }

  /** Starts a seed from its beginning, so that the same values follow. */
  reset(): void {
    this.#draw = drawn(this.#seed);
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

function drawn(seed: number | undefined): () => number {
  return seed === undefined ? () => randomInt(FINENESS) / FINENESS : seededRandom(seed);
}

/** A source of randomness for each part of the mock, so that the draws of one part do not change those of another. */
export class RandomStreams {
  readonly webhooks: Random;
  readonly simulation: Random;
  readonly faults: Random;
  readonly requests: Random;
  readonly statuses: Random;

  /** @param seed undefined: the values cannot be predicted */
  constructor(seed: number | undefined) {
    const root = new Random(seed);
    this.webhooks = root.stream();
    this.simulation = root.stream();
    this.faults = root.stream();
    this.requests = root.stream();
    this.statuses = root.stream();
  }

  /** Starts all of them from the beginning. */
  reset(): void {
    for (const stream of [this.webhooks, this.simulation, this.faults, this.requests, this.statuses]) {
      stream.reset();
    }
  }
}
