import { execFileSync } from 'node:child_process';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Prints every file and package that a process of its own loads for a module. */
const LOADED = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
await import(process.argv[1]);
process.stdout.write(JSON.stringify(loaded));`;

/** What a process of its own loads for a file of the project: files relative to its root, and modules of Node. */
export function loadedBy(file: string): string[] {
  const args = ['--input-type=module', '--eval', LOADED, new URL(`../../${file}`, import.meta.url).href];
  const urls: string[] = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  return urls.map((url) => (url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url)).toSorted();
}
