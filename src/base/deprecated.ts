import { deprecate } from 'node:util';

/**
 * A function of the package under a former name: it works as before, and the first call in a process warns, with what to use
 * instead. Mark the name `@deprecated` as well, for editors.
 * @param name the former name
 * @param replacement what to write instead
 */
export function deprecated<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  name: string,
  replacement: string,
): (...args: A) => R {
  return deprecate(fn, `${name} is deprecated: use ${replacement}`, `HOOKKIT_${name}`);
}
