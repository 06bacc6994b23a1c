/** The value in the middle, or the mean of the two there. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return (at(Math.ceil(values.length / 2) - 1) + at(Math.floor(values.length / 2))) / 2;
}

/** What one measurement gives: numbers by name. */
type Figures<F> = { readonly [K in keyof F]: number };

interface Limits {
  readonly rounds: number;
  /** no round begins that would probably end later, but for the first */
  readonly seconds: number;
}

/**
 * Measures every case once a round, one after the other, so that whatever else the machine does strikes all alike.
 * @returns for each case the median of every figure over all rounds
 */
export async function interleaved<N extends string, F extends Figures<F>>(
  cases: readonly N[],
  { rounds, seconds }: Limits,
  measure: (name: N) => Promise<F>,
): Promise<Readonly<Record<N, F>>> {
  const taken = new Map<N, F[]>(cases.map((name) => [name, []]));
  const began = performance.now();
  for (let round = 1; round <= rounds; round++) {
    for (const name of cases) {
      const figures = await measure(name);
      taken.get(name)?.push(figures);
      say(`round ${round}, ${name}: ${inShort(figures)}`);
    }
    const took = (performance.now() - began) / 1000;
    if (took + took / round > seconds) break;
  }
  return Object.fromEntries([...taken].map(([name, all]) => [name, medians(all)])) as Record<N, F>;
}

function medians<F extends Figures<F>>(all: readonly F[]): F {
  const names = Object.keys(all[0] ?? {}) as (keyof F)[];
  return Object.fromEntries(names.map((name) => [name, median(all.map((one) => one[name]))])) as F;
}

function inShort(figures: object): string {
  const all = Object.entries(figures).filter(([, value]) => !Number.isNaN(value));
  return all
    .map(([name, value]) => `${name} ${value < 100 ? value.toFixed(2) : Math.round(value)}`)
    .join(', ');
}

/** Tells whoever waits how far it is; results go elsewhere. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
