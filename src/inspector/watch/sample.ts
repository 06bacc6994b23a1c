/** Room for as many values as give a good 99th percentile. */
const SIZE = 256;

/** A fair sample of however many values, in bounded memory (reservoir sampling). */
export class Sample {
  readonly #values: number[] = [];
  readonly #random: () => number;
  #seen = 0;

  /** @param random a number in [0, 1) */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  get seen(): number {
    return this.#seen;
  }

  get values(): readonly number[] {
    return this.#values;
  }

  add(value: number): void {
    const place = this.#seen < SIZE ? this.#seen : Math.floor(this.#random() * (this.#seen + 1));
    this.#seen++;
    if (place < SIZE) this.#values[place] = value;
  }
}

/** The value below which such a share of all that the samples saw lies; null where they saw nothing. */
export function quantileOf(samples: readonly Sample[], share: number): number | null {
  const weighed = samples.flatMap(({ values, seen }) =>
    values.map((value) => ({ value, weight: seen / values.length })),
  );
  weighed.sort((one, other) => one.value - other.value);
  let left = share * samples.reduce((sum, { seen }) => sum + seen, 0);
  for (const { value, weight } of weighed) {
    left -= weight;
    if (left < 0) return value;
  }
  return weighed.at(-1)?.value ?? null;
}
