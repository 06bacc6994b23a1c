import { isDate } from 'node:util/types';
import { shown } from '../base/thrown.ts';

const LONGEST_NAME = 200;
/** Other texts cannot be stored alike in every database, and two of them could become one name. */
const STORABLE = /^[^\0\p{Cs}]*$/u;

/**
 * Checks the name under which a handler stores something.
 * @param what it names, for the error
 * @throws TypeError with the valid names
 */
export function checkName(what: string, name: unknown): asserts name is string {
  if (hasLength(name) && STORABLE.test(name)) return;
  const unstorable = hasLength(name) ? ', without NUL and halves of surrogate pairs' : '';
  throw new TypeError(
    `the name of ${what} must be a string of 1 to ${LONGEST_NAME} characters${unstorable}, and this one is ${shown(name)}`,
  );
}

/** Whether it is a string as long as a name may be. */
function hasLength(name: unknown): name is string {
  // A character may take two units of a string. Names that are far too long are not counted.
  if (typeof name !== 'string' || name === '' || name.length > 2 * LONGEST_NAME) return false;
  return [...name].length <= LONGEST_NAME;
}

/** A value as JSON text, or why it has none. */
export type JsonText = { readonly text: string; readonly bytes: number } | { readonly problem: string };

/** A value as JSON has it, which may be something else: null for NaN, `{}` for a Map. */
export function jsonTextOf(value: unknown): JsonText {
  try {
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) return { problem: `it is not JSON (${shown(value)})` };
    return { text, bytes: Buffer.byteLength(text) };
  } catch (error) {
    return { problem: `it is not JSON (${whyNot(error)})` };
  }
}

/** Node has no end of its own for how deep a value may be nested, but that of its stack. */
function whyNot(error: unknown): string {
  return error instanceof RangeError && error.message.startsWith('Maximum call stack')
    ? 'it is nested thousands of levels deep'
    : shown(error);
}

/**
 * A value that JSON gives back as it is. A toJSON is asked first, as JSON does. A member that is undefined is left out, and is
 * undefined when it is read.
 */
export function exactJsonTextOf(value: unknown): JsonText {
  const places = new Map<unknown, string>();
  let problem: string | undefined;
  const checked = function (this: object, name: string, made: unknown) {
    const above = places.get(this);
    const place = above === undefined ? '' : above + stepTo(this, name);
    const isMember = above !== undefined && !Array.isArray(this);
    // The toJSON of a Date that is none gives null.
    const isExact = made === null ? !isDate(Reflect.get(this, name)) : isKept(made, isMember);
    const lost = isExact && typeof made === 'object' && made !== null ? lostMemberOf(made) : undefined;
    if (!isExact || lost !== undefined) {
      const why = lost === undefined ? '' : `: its member ${shown(lost)} would be lost`;
      problem = `${shown(made ?? Reflect.get(this, name))} ${place && `at ${place} `}is no JSON value${why}`;
      throw new TypeError(problem);
    }
    if (typeof made === 'object') places.set(made, place);
    return made;
  };
  try {
    const text = JSON.stringify(value, checked);
    return { text, bytes: Buffer.byteLength(text) };
  } catch (error) {
    return { problem: problem ?? `it is not JSON (${whyNot(error)})` };
  }
}

function isKept(value: unknown, isMember: boolean): boolean {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value);
    case 'object':
      return Array.isArray(value) || isPlain(value);
    case 'undefined':
      return isMember;
    default:
      return typeof value === 'string' || typeof value === 'boolean';
  }
}

/** Whether an object is its members and nothing else, in this realm or another one, such as a test's. */
function isPlain(value: object | null): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The names of a longer list take long to look at, and it is too large to be stored in any case. */
const LONGEST_LIST = 65_536;

/** A member that JSON leaves out in silence: of a list one that has no number, of an object one by symbol or not enumerable. */
function lostMemberOf(value: object): string | symbol | undefined {
  if (Array.isArray(value) && value.length > LONGEST_LIST) return undefined;
  const all = Reflect.ownKeys(value);
  const kept = Array.isArray(value) ? value.length + 1 : Object.keys(value).length; // a list has its length, too
  if (all.length <= kept) return undefined;
  const isKeptOne = (one: string | symbol) =>
    Array.isArray(value)
      ? one === 'length' || (typeof one === 'string' && isIndex(one, value.length))
      : Object.prototype.propertyIsEnumerable.call(value, one) && typeof one === 'string';
  return all.find((one) => !isKeptOne(one));
}

function isIndex(name: string, length: number): boolean {
  return /^(0|[1-9]\d*)$/.test(name) && Number(name) < length;
}

function stepTo(holder: object, name: string): string {
  if (Array.isArray(holder)) return `[${name}]`;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? `.${name}` : `[${shown(name)}]`;
}
