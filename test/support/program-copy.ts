import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { placeForCopy } from './place-for-copy.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Handlers in two files, as somebody has them. */
const HANDLERS = {
  'index.ts': [
    "import { combineHandlers } from '../index.ts';",
    "import { tracks } from './tracks.ts';",
    'export const handlers = combineHandlers(tracks);',
  ],
  'tracks.ts': [
    "import { defineHandlers } from '../index.ts';",
    'export const tracks = defineHandlers({ track_created() {} });',
  ],
};

export interface CopyOptions {
  /** for the copy of a test that imports modules of it: see `placeForCopy` */
  readonly name?: string;
  /** what else of the project stands in it */
  readonly more?: readonly string[];
}

/** A copy of the program in a directory of its own, to be changed and run; with handlers of its own, too. */
export function copyProgram({ name = 'copy', more = [] }: CopyOptions = {}): string {
  const copy = placeForCopy(name);
  for (const name of ['bin', 'src', 'package.json', ...more])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  rmSync(join(copy, 'src/handlers'), { recursive: true });
  mkdirSync(join(copy, 'src/handlers'));
  for (const [name, lines] of Object.entries(HANDLERS)) {
    writeFileSync(join(copy, 'src/handlers', name), `${lines.join('\n')}\n`);
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}
