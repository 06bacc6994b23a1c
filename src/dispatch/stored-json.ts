import { shown } from '../base/thrown.ts';

const LONGEST_NAME = 200;
/** Other texts cannot be stored alike in every database, and two of them could become one name. */
const STORABLE = /^[^\0\p{Cs}]{1,200}$/u;

/**
 * Checks the name under which a handler stores something.
 * @param what it names, for the error
 * @throws TypeError with the valid names
 */
export function checkName(what: string, name: unknown): asserts name is string {
  if (typeof name === 'string' && STORABLE.test(name)) return;
  throw new TypeError(
    `the name of ${what} must be a string of 1 to ${LONGEST_NAME} characters, without NUL and halves of surrogate pairs, and this one is ${shown(name)}`,
  );
}

/** A value as JSON text, or why it has none. */
export type JsonText = { readonly text: string } | { readonly problem: string };

/** A value as JSON has it, which may be something else: null for NaN, `{}` for a Map. */
export function jsonTextOf(
  value: unknown,
  replacer?: (this: object, name: string, made: unknown) => unknown,
): JsonText {
  try {
    const text: string | undefined = JSON.stringify(value, replacer);
    return text === undefined ? { problem: `it is not JSON (${shown(value)})` } : { text };
  } catch (error) {
    return { problem: `it is not JSON (${shown(error)})` };
  }
}

/**
 * A value that JSON gives back as it is. A toJSON is asked first, as JSON does. A member that is undefined is left out, and is
 * undefined when it is read.
 */
export function exactJsonTextOf(value: unknown): JsonText {
  let problem: string | undefined;
  const json = jsonTextOf(value, function (name, made) {
    const isMember = name !== '' && !Array.isArray(this);
    const isKept = made === undefined ? isMember : isExact(made, Reflect.get(this, name));
    if (!isKept) {
      problem = `${shown(made ?? Reflect.get(this, name))} is no JSON value`;
      throw new TypeError(problem);
    }
    return made;
  });
  return problem === undefined ? json : { problem };
}

/** @param given what a toJSON made it of: that of a Date that is none gives null */
function isExact(made: unknown, given: unknown): boolean {
  if (typeof made === 'number') return Number.isFinite(made);
  if (typeof made !== 'object') return typeof made === 'string' || typeof made === 'boolean';
  if (made === null) return given === null;
  // JSON leaves out in silence: names in a list, members by symbol, and those that are not enumerable.
  const kept = Array.isArray(made) ? made.length + 1 : Object.keys(made).length;
  return isPlain(made) && Reflect.ownKeys(made).length === kept;
}

/** Whether an object is a list, or its members and nothing else, in this realm or another one, such as a test's. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
