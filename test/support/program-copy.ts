import { cpSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A copy of the program in a directory of its own, to be changed and run. */
export function copyProgram(): string {
  const copy = mkdtempSync(join(tmpdir(), 'hookkit-copy-'));
  for (const name of ['bin', 'src', 'package.json'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}
