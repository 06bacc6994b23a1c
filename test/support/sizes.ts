/**
 * Whether tests run at full size, as `npm run test:faults` has them: it runs every suite that imports this file again.
 * `npm test` runs a part of the same, with other random values each time.
 */
const full = process.env.TEST_SIZE === 'full';

/** How many runs a property has, which has `all` at full size. */
export function runs(all: number): number {
  return full ? all : Math.max(Math.ceil(all / 20), Math.min(all, FEWEST_RUNS));
}

/** How much of something repeated or large a test does: kills, uploads, requests; or in which of two ways. */
export function size<T = number>(sizes: { readonly small: T; readonly full: T }): T {
  return full ? sizes.full : sizes.small;
}

/** The cases of a table of which each costs a process or a page: so many of them, spread over the table, or all at full size. */
export function some<T>(few: number, cases: readonly T[]): readonly T[] {
  if (full || few >= cases.length) return cases;
  const step = cases.length / few;
  return Array.from({ length: few }, (_, index) => cases[Math.floor(index * step)] as T);
}

/**
 * `test`, for a case that costs seconds, where another one of `npm test` has its mechanism: `npm test` skips it, and it runs at full
 * size.
 */
export function atFullSize<T>(test: T & { readonly skip: T }): T {
  return full ? test : test.skip;
}

const FEWEST_RUNS = 5;
