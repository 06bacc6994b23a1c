import { existsSync, readFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KitError, messageOf } from '../base/errors.ts';
import { isPackage, KIT, kitFolder, kitVersion } from '../base/program.ts';

/** What `npm install` makes of package.json where there is none. Anything more is somebody's. */
const OF_NPM = ['dependencies', 'devDependencies', 'optionalDependencies', 'allowScripts'];

/** The members of package.json that are objects of several entries; each entry counts for itself. */
const TABLES = ['scripts', ...OF_NPM];

/** A package.json. */
export type Manifest = Record<string, unknown>;
type Table = Readonly<Record<string, string>>;

/** The package.json of a folder, if it has one. @throws KitError INPUT_INVALID if it is not JSON: it would be lost */
export function manifestIn(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) return undefined;
  try {
    const manifest: unknown = JSON.parse(readFileSync(path, 'utf8').replace(/^\uFEFF/, '')); // which npm reads, too
    if (typeof manifest !== 'object' || manifest === null || Array.isArray(manifest))
      throw new TypeError('it is no JSON object');
    return manifest as Manifest;
  } catch (cause) {
    throw new KitError('INPUT_INVALID', `cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

/** Whether it has nothing but what `npm install` writes where there is none. */
export function isOfNpm(manifest: Manifest): boolean {
  return Object.keys(manifest).every((name) => OF_NPM.includes(name));
}

function table(manifest: Manifest | undefined, name: string): Table {
  return (manifest?.[name] ?? {}) as Table;
}

/** The new package.json, with what a former one has beyond it. */
export function withKit(
  manifest: Manifest,
  former: Manifest | undefined,
  folder: string,
  spec: string,
): Manifest {
  const tables = TABLES.map((name) => {
    const entries = { ...table(manifest, name), ...(name === 'dependencies' && { [KIT]: spec }) };
    // Versions that somebody has chosen stay.
    const both =
      name === 'scripts' ? { ...table(former, name), ...entries } : { ...entries, ...table(former, name) };
    if (name === 'dependencies') both[KIT] = spec;
    return [name, sorted(name, both)] as const;
  }).filter(([, entries]) => Object.keys(entries).length > 0);
  const ours = { ...manifest, ...Object.fromEntries(tables) };
  return { name: nameFor(folder), ...ours, ...former, ...ours };
}

/** As npm sorts packages. */
function sorted(name: string, entries: Table): Table {
  if (name === 'scripts') return entries;
  return Object.fromEntries(Object.entries(entries).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** A valid name of a package, after the folder. */
function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z\d-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return name === '' || name === KIT ? 'receiver' : name;
}

/**
 * Where npm is to find the kit: where the running one was installed from.
 * @throws KitError INPUT_INVALID in a clone, which was not installed
 */
export function specOfKit(folder: string, former: Manifest | undefined): string {
  const own = table(former, 'dependencies')[KIT];
  if (own !== undefined) return own;
  if (!isPackage) throw new KitError('INPUT_INVALID', OF_CLONE);
  const root = resolve(fileURLToPath(kitFolder), '../..');
  const installer = manifestIn(root);
  const spec = { ...table(installer, 'devDependencies'), ...table(installer, 'dependencies') }[KIT];
  return spec === undefined ? `^${kitVersion()}` : specFor(folder, root, spec);
}

const OF_CLONE = `this is a clone of the kit: handlers are in its src/handlers/. For a repository of your own, pack the kit here:
  npm pack
Then, in a new folder, with the path of the file that npm pack has named:
  npm install PATH
  npx hookkit init`;

/** A path counts from the folder of the app, wherever it was given. */
export function specFor(folder: string, from: string, spec: string): string {
  const path = spec.replace(/^file:/, '');
  const isPath = path !== spec || /^[./]/.test(spec) || existsSync(resolve(from, spec));
  return isPath ? `file:${relative(folder, resolve(from, path))}` : spec;
}
