/**
 * Whether tests run at full size, with TEST_SIZE=full, by hand. Else they do a part of the same, with other random values each
 * time.
 */
const isFull = process.env.TEST_SIZE === 'full';

/** How many runs a property has, which has `all` at full size. */
export function runs(all: number): number {
  return isFull ? all : Math.max(Math.ceil(all / 20), Math.min(all, 5));
}

/** How much of something repeated or large a test does: kills, uploads, requests. */
export function size<T = number>(sizes: { readonly small: T; readonly full: T }): T {
  return isFull ? sizes.full : sizes.small;
}
