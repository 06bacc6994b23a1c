import { seededRandom } from '../seeded-random.ts';

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A seeded source of randomness: the same seed gives the same run. Not for secrets outside of a mock. */
export class Random {
  readonly #seed: number;
  #draw: () => number;

  constructor(seed: number) {
    this.#seed = seed;
    this.#draw = seededRandom(seed);
  }

  /** Starts over, so that what follows is what followed at first. */
  reset(): void {
    this.#draw = seededRandom(this.#seed);
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
