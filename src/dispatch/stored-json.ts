import { shown } from '../base/thrown.ts';

/** PostgreSQL stores no NUL, and two names with halves of surrogate pairs could become one name. */
const STORABLE = /^[^\0\p{Cs}]{1,200}$/u;

/**
 * Checks the name under which a handler stores something.
 * @param what it names, for the error
 * @throws TypeError with the valid names
 */
export function checkName(what: string, name: unknown): asserts name is string {
  if (typeof name === 'string' && STORABLE.test(name)) return;
  throw new TypeError(
    `the name of ${what} must be a string of 1 to 200 characters, without NUL and halves of surrogate pairs, and this one is ${shown(name)}`,
  );
}

/**
 * A value as JSON text, which may mean something else: null for NaN, `{}` for a Map.
 * @throws TypeError if there is none, as for a function
 */
export function jsonTextOf(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`${shown(value)} is no JSON value`);
  return text;
}

type Scalar = string | number | boolean | null | undefined | void;

type Callable = (...given: never[]) => unknown;

/**
 * The type of a value after it was stored as JSON and read again: a Date is a string. It is `never` for values that JSON cannot hold, such
 * as a BigInt, a Map or a method.
 */
export type AsJson<T> = T extends Scalar
  ? T
  : T extends { toJSON(...given: never[]): infer Made }
    ? AsJson<Made>
    : T extends bigint | symbol | Callable | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
      ? never
      : T extends object
        ? { [Member in keyof T]: AsJson<T[Member]> }
        : unknown;
