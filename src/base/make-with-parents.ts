import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a directory, and those above it. Node's own `recursive` tries for ever where a parent is there and takes no entries, as in
 * /proc.
 * @param mode of each that is made; the usual one without it
 * @throws Error if the system refuses it
 */
export function makeWithParents(path: string, mode?: number): void {
  const isThere = () => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return;
  const parent = dirname(path);
  if (parent !== path) makeWithParents(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!isThere()) throw error; // else another process has just made it
  }
}
