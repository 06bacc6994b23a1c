import { randomInt } from 'node:crypto';
import { ALPHANUMERIC, seededRandom } from '../base/seeded-random.ts';

/** How many numbers are drawn from: a source's are as fine as those of a seed. */
const FINENESS = 2 ** 32;

/** A source of randomness: with a seed, the same one gives the same run; without, nobody can tell what comes. */
export class Random {
  readonly #seed: number | undefined;
  #draw: () => number;

  constructor(seed: number | undefined) {
    this.#seed = seed;
    this.#draw = drawn(seed);
  }

  /** Whether what it gives can be computed by others. */
  get isSeeded(): boolean {
    return this.#seed !== undefined;
  }

  /** A source of its own for a part of what this one serves. */
  stream(): Random {
    return new Random(this.isSeeded ? this.int(FINENESS) : undefined);
  }

  /** Starts a seed over, so that what follows is what followed at first. */
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

  /** @param seed none: nobody can tell what comes */
  constructor(seed: number | undefined) {
    const root = new Random(seed);
    this.webhooks = root.stream();
    this.simulation = root.stream();
    this.faults = root.stream();
    this.requests = root.stream();
    this.statuses = root.stream();
  }

  /** Starts all of them over. */
  reset(): void {
    for (const stream of [this.webhooks, this.simulation, this.faults, this.requests, this.statuses]) {
      stream.reset();
    }
  }
}
