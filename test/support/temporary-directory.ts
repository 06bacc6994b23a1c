import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new empty directory outside of the project. It goes after the run of tests, with all that stands in its `tmpdir()`. */
export function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'kit-'));
}
