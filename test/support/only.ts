/** The one element of a list; a test that finds none or several has failed. */
export function only<T>(list: readonly T[]): T {
  const [first] = list;
  if (first === undefined || list.length !== 1)
    throw new Error(`one was expected, ${list.length} were found`);
  return first;
}

/** A value that must be there. */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('nothing is there');
  return value;
}
