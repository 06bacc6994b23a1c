import { KitError } from '../base/errors.ts';

/** Of results that a stop could not store. */
export function notStored(results: number): KitError {
  const told = results === 1 ? 'a result' : `${results} results`;
  return new KitError(
    'STORE_UNAVAILABLE',
    `${told} could not be stored; the log names each event, which runs again`,
  );
}
