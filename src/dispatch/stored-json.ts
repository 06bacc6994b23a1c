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
  if (isName(name)) return;
  throw new TypeError(
    `the name of ${what} must be a string of 1 to ${LONGEST_NAME} characters, and this one is ${shown(name)}`,
  );
}

function isName(name: unknown): name is string {
  // A character may take two units of a string. Names that are far too long are not counted.
  if (typeof name !== 'string' || name === '' || name.length > 2 * LONGEST_NAME) return false;
  return [...name].length <= LONGEST_NAME && STORABLE.test(name);
}

/** A value as JSON text, or why it has none. */
export function jsonTextOf(
  value: unknown,
): { readonly text: string; readonly bytes: number } | { readonly problem: string } {
  try {
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) return { problem: `it is not JSON (${shown(value)})` };
    return { text, bytes: Buffer.byteLength(text) };
  } catch (error) {
    return { problem: `it is not JSON (${shown(error)})` };
  }
}
