import { join } from 'node:path';
import { beforeEach } from '@jest/globals';
import { temporaryDirectory } from './temporary-directory.ts';

/** Gives each test of a suite an empty directory. @returns the path of a file in it, or its own */
export function directoryForEachTest(): (file?: string) => string {
  let directory = '';
  beforeEach(async () => {
    directory = await temporaryDirectory();
  });
  return (file = '') => join(directory, file);
}
