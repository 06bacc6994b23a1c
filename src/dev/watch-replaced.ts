import { globSync } from 'node:fs';

const LOADED = '**/*.{ts,mts,cts,js,mjs,cjs,json}';
const MOST = 1000;

/**
 * Has `node --watch` see a file that an editor saves by putting a new one in its place. Node watches a file, not its name, and never
 * watches again what it watches already by that name: the second such save would go unnoticed, and all later ones. So each start
 * names the files anew, in words of its own.
 * @param folder with the handlers, and what stands beside and below them
 */
export function watchReplaced(folder: string): void {
  const files = globSync(LOADED, { cwd: folder, exclude: ['**/node_modules', '**/.*'] });
  // The number of the process, in a way that leads nowhere.
  const way = [...process.pid.toString(2)].map((digit) => (digit === '1' ? './' : '/')).join('');
  // What Node itself sends where it runs as the child of `node --watch`.
  process.send?.({ 'watch:require': files.slice(0, MOST).map((path) => `${folder}/${way}${path}`) });
}
