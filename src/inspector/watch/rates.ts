/** The counts and times of one step. */
class Step {
  accepted = 0;
  duplicate = 0;
  rejected = 0;
  notRecorded = 0;
  handled = 0;
  failed = 0;
  readonly ack = new Sample();
  readonly handler = new Sample();
  readonly commit = new Sample();
  /** which step since the epoch */
  readonly number: number;

  constructor(number: number) {
    this.number = number;
  }
}

type Counter = 'accepted' | 'duplicate' | 'rejected' | 'notRecorded' | 'handled' | 'failed';
type Timer = 'ack' | 'handler' | 'commit';

const STEP_MS = 10_000;
/** One hour. */
const STEPS = 360;

/** Columns for a plot: one entry a step, oldest first. Rates are a second, times milliseconds. */
export interface Series {
  /** seconds since the epoch */
  readonly times: readonly number[];
  readonly accepted: readonly number[];
  readonly duplicate: readonly number[];
  readonly rejected: readonly number[];
  readonly not_recorded: readonly number[];
  readonly handled: readonly number[];
  readonly failed: readonly number[];
  readonly ack_p50: readonly (number | null)[];
  readonly ack_p99: readonly (number | null)[];
  readonly handler_p50: readonly (number | null)[];
  readonly handler_p99: readonly (number | null)[];
}

export interface Quantiles {
  readonly p50: number | null;
  readonly p99: number | null;
}

/** Counts and times of the last hour, in steps of ten seconds. */
export class Rates {
  #steps: Step[] = [];

  count(counter: Counter, now: number): void {
    this.#stepAt(now)[counter]++;
  }

  time(timer: Timer, ms: number, now: number): void {
    this.#stepAt(now)[timer].add(ms);
  }

  /** The count of the last `ms` milliseconds. */
  recent(counter: Counter, ms: number, now: number): number {
    return this.#since(now - ms).reduce((sum, step) => sum + step[counter], 0);
  }

  /** The quantiles of the last `ms` milliseconds. */
  quantiles(timer: Timer, ms: number, now: number): Quantiles {
    const samples = this.#since(now - ms).map((step) => step[timer]);
    return { p50: quantileOf(samples, 0.5), p99: quantileOf(samples, 0.99) };
  }

  series(now: number): Series {
    const last = Math.floor(now / STEP_MS) - 1; // the present step is not complete, and would look like a slump
    const known = new Map(this.#steps.map((step) => [step.number, step]));
    const steps = Array.from({ length: STEPS }, (_, index) => {
      const number = last - STEPS + 1 + index;
      return known.get(number) ?? new Step(number);
    });
    const rate = (counter: Counter) => steps.map((step) => step[counter] / (STEP_MS / 1000));
    const time = (timer: Timer, share: number) => steps.map((step) => quantileOf([step[timer]], share));
    return {
      times: steps.map(({ number }) => (number * STEP_MS) / 1000),
      accepted: rate('accepted'),
      duplicate: rate('duplicate'),
      rejected: rate('rejected'),
      not_recorded: rate('notRecorded'),
      handled: rate('handled'),
      failed: rate('failed'),
      ack_p50: time('ack', 0.5),
      ack_p99: time('ack', 0.99),
      handler_p50: time('handler', 0.5),
      handler_p99: time('handler', 0.99),
    };
  }

  #since(time: number): readonly Step[] {
    const first = Math.floor(time / STEP_MS);
    return this.#steps.filter(({ number }) => number >= first);
  }

  #stepAt(now: number): Step {
    const number = Math.floor(now / STEP_MS);
    const newest = this.#steps.at(-1);
    if (newest && newest.number >= number) return newest; // after the clock was set back, the newest step goes on
    const step = new Step(number);
    this.#steps = [...this.#steps.slice(1 - STEPS), step];
    return step;
  }
}

/** As many values as a good 99th percentile needs. */
const SIZE = 256;

/** A fair sample of any number of values, in bounded memory (reservoir sampling). */
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

/** The quantile of all values that the samples got; null if they got none. */
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
