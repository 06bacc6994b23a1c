import { existsSync, globSync } from 'node:fs';
import { dirname } from 'node:path';

const LOADED = '**/*.{ts,mts,cts,js,mjs,cjs,json}';
const MOST = 1000;

/**
 * Has `node --watch` see what it would not: a file that an editor saves by putting a new one in its place, and one that is not there yet.
 * Node watches a file, not its name, and never watches again what it watches already by that name: the second such save would go
 * unnoticed, and all later ones. So each start names the files anew, in words of its own.
 * @param files where the module of the handlers may be: what stands beside and below the first that is there is watched, or else the
 *   folders in which it may come to be
 */
export function watchHandlers(files: readonly string[]): void {
  const there = files.find((file) => existsSync(file));
  if (there !== undefined) watch(dirname(there), globSync(LOADED, { cwd: dirname(there), exclude: HIDDEN }));
  else for (const folder of new Set(files.map(nearestFolder))) watch(folder, ['.']);
}

const HIDDEN = ['**/node_modules', '**/.*'];

/** The folder of a file, or the nearest around it that is there. */
function nearestFolder(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) ? folder : nearestFolder(folder);
}

function watch(folder: string, paths: readonly string[]): void {
  // The number of the process, in a way that leads nowhere.
  const way = [...process.pid.toString(2)].map((digit) => (digit === '1' ? './' : '/')).join('');
  // What Node itself sends where it runs as the child of `node --watch`.
  process.send?.({ 'watch:require': paths.slice(0, MOST).map((path) => `${folder}/${way}${path}`) });
}
