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
  const must = 'must be a string of 1 to 200 characters, without NUL and halves of surrogate pairs';
  throw new TypeError(`the name of ${what} ${must}, and this one is ${shown(name)}`);
}

type Replacer = (this: object, name: string, made: unknown) => unknown;

/**
 * A value as JSON text, which may mean something else: null for NaN, `{}` for a Map.
 * @param what it is, for the error
 * @param most bytes
 * @throws TypeError if it takes more, or there is none, as for a function
 */
export function jsonTextOf(what: string, value: unknown, most: number, replacer?: Replacer): string {
  try {
    const text: string | undefined = JSON.stringify(value, replacer);
    if (text === undefined) throw new TypeError(`${shown(value)} is no JSON value`);
    const bytes = Buffer.byteLength(text);
    if (bytes <= most) return text;
    throw new TypeError(`it takes ${bytes} bytes as JSON, and the most is ${most} (${most / 1024} KB)`);
  } catch (cause) {
    throw new TypeError(`${what} cannot be stored: ${shown(cause)}`, { cause });
  }
}

/**
 * A value as JSON text that means the same. A toJSON is asked first, as JSON does. A member that is undefined is left out, and is
 * undefined when it is read.
 * @throws TypeError as `jsonTextOf` does, and if JSON would give something else back
 */
export function exactJsonTextOf(what: string, value: unknown, most: number): string {
  return jsonTextOf(what, value, most, function (name, made) {
    const given: unknown = Reflect.get(this, name);
    const isLeftOut = made === undefined && !Array.isArray(this);
    // The toJSON of an invalid Date gives null.
    if (isLeftOut || (made === null ? given === null : isJson(made))) return made;
    throw new TypeError(`${shown(made ?? given)} is no JSON value`);
  });
}

/** Of objects, whether it is a list, or its members and nothing else, in this realm or another one, such as a test's. */
function isJson(value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value !== 'object') return Number.isFinite(value);
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || Object.getPrototypeOf(prototype) === null;
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

/** The same type, in which nothing can be changed, however deep. */
export type DeepReadonly<T> = unknown extends T
  ? T
  : { readonly [Member in keyof T]: DeepReadonly<T[Member]> };
