import type { Awaitable } from '../driver.ts';

/**
 * What calls of a driver answer that need nothing of each other's answers. The driver executes them in the order of the
 * arguments; one over a network may send them together.
 */
export function inOrder<T extends readonly unknown[]>(
  ...calls: { readonly [K in keyof T]: Awaitable<T[K]> }
): Promise<T> {
  return Promise.all(calls) as unknown as Promise<T>;
}
