import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes a directory for a copy of the program, under the first number that is free. Node keeps what it has compiled by the
 * paths of files: under a new name each time, every copy would be compiled again, which takes longer than to start it twice.
 * @param name a test that imports modules of its copy gives one of its own: a process loads a path only once
 */
export function placeForCopy(name: string): string {
  for (let number = 1; ; number++) {
    const place = join(tmpdir(), `hookkit-${name}-${number}`);
    try {
      mkdirSync(place, { mode: 0o700 });
      return place;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
