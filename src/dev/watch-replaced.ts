import { readdirSync } from 'node:fs';

const LOADED = /\.(?:[cm]?[jt]s|json)$/;
const MOST = 1000;

/**
 * Has `node --watch` see a file that an editor saves by putting a new one in its place. Node watches a file, not its name, and never
 * watches again what it watches already by that name: the second such save would go unnoticed, and all later ones. So each start
 * names the files anew, in words of its own.
 * @param folder with the handlers, and what stands beside and below them
 */
export function watchReplaced(folder: string): void {
  // What Node itself sends where it runs as the child of `node --watch`.
  process.send?.({ 'watch:require': filesIn(folder).map((path) => `${folder}/${ofThisStart()}${path}`) });
}

function filesIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files
    .filter((path) => LOADED.test(path) && !/(?:^|[\\/])(?:node_modules|\.[^\\/]*)[\\/]/.test(path))
    .slice(0, MOST);
}

/** The number of the process, in a way that leads nowhere. */
function ofThisStart(): string {
  return [...process.pid.toString(2)].map((digit) => (digit === '1' ? './' : '/')).join('');
}
