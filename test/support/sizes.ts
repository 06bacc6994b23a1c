/**
 * Whether tests run at full size, as `npm run test:faults` has them: it runs every suite that imports this file again.
 * `npm test` runs a part of the same, with other random values each time.
 */
const full = process.env.TEST_SIZE === 'full';

/** How many runs a property has, which has `all` at full size. */
export function runs(all: number): number {
  return full ? all : Math.max(Math.ceil(all / 10), Math.min(all, FEWEST_RUNS));
}

/** How much of something repeated or large a test does: kills, uploads, requests. */
export function size(sizes: { readonly small: number; readonly full: number }): number {
  return full ? sizes.full : sizes.small;
}

const FEWEST_RUNS = 5;
