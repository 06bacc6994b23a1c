import { KitError } from '../base/errors.ts';
import { shown } from '../base/thrown.ts';

export function unavailable(message: string): KitError {
  return new KitError('STORE_UNAVAILABLE', `the store cannot do this now: ${message}`);
}

/** The error of a request whose input cannot be passed to its database. Nothing of it was done. */
export function unstorableInput(name: string, cause: unknown): KitError {
  return new KitError(
    'VALUE_UNSTORABLE',
    `${name} got a value that the store cannot take (${shown(cause)}): give it plain data, without functions or symbols`,
    { cause },
  );
}

/** A copy of an input, as a thread gets: what no thread could take is refused. */
export function copyOf<T>(name: string, input: T): T {
  try {
    return structuredClone(input);
  } catch (cause) {
    throw unstorableInput(name, cause);
  }
}
