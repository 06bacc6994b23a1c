import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { KitError, messageOf } from '../base/errors.ts';
import { isPackage, KIT, kitFolder, kitVersion } from '../base/program.ts';

const TEMPLATES = fileURLToPath(new URL('templates/', kitFolder));
const RECIPES = join(import.meta.dirname, '../recipes');

/** Files that npm would leave out of the package, or read as its own, have other names among the templates. */
const NAMES: Readonly<Record<string, string>> = {
  'manifest.json': 'package.json',
  gitignore: '.gitignore',
  dockerignore: '.dockerignore',
  'env.example': '.env.example',
};

/**
 * Each file of a new app with its text, by its path.
 * @param recipe begins with this recipe and its test, in place of the example
 * @throws KitError INPUT_INVALID if there is no such recipe
 */
function appFiles(recipe: string | undefined): Map<string, string> {
  const files = templates('app');
  if (recipe === undefined) return files;
  const names = recipeNames();
  if (!names.includes(recipe))
    throw new KitError('INPUT_INVALID', `there is no recipe ${recipe}; there are ${names.join(', ')}`);
  files.delete('src/handlers.test.ts'); // of the example
  const text = readFileSync(join(RECIPES, `${recipe}.ts`), 'utf8');
  const imported = text.replaceAll(/from '\.\.\/(provider\/)?index\.ts'/g, (_, room) =>
    room === undefined ? `from '${KIT}'` : `from '${KIT}/provider'`,
  );
  files.set(`src/${recipe}.ts`, imported);
  for (const [path, text] of templates(`recipes/${recipe}`))
    files.set(path, path === '.env.example' ? `${files.get(path) ?? ''}${text}` : text);
  return files;
}

/** The recipes that an app can begin with. */
export function recipeNames(): string[] {
  if (!existsSync(RECIPES)) return [];
  return readdirSync(RECIPES).flatMap((name) => /^([\w-]+)\.ts$/.exec(name)?.[1] ?? []);
}

function templates(folder: string): Map<string, string> {
  const root = join(TEMPLATES, folder);
  const paths = readdirSync(root, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  return new Map(paths.map((path) => [NAMES[path] ?? path, readFileSync(join(root, path), 'utf8')]));
}

/** What `npm install` makes of package.json where there is none. Anything more is somebody's. */
const OF_NPM = ['dependencies', 'devDependencies', 'optionalDependencies', 'allowScripts'];

const table = z.record(z.string(), z.unknown()).optional();
const dependencies = z.record(z.string(), z.string()).optional();
const manifest = z.looseObject({
  scripts: table,
  dependencies,
  devDependencies: dependencies,
  allowScripts: table,
});
type Manifest = z.infer<typeof manifest>;

export interface NewAppOptions {
  /** an absolute path; the folder need not be there */
  readonly folder: string;
  /** what a path in `kit` counts from */
  readonly cwd: string;
  readonly recipe?: string | undefined;
  /** where npm finds the kit; without it, from where the running one was installed */
  readonly kit?: string | undefined;
}

/**
 * Writes an app of its own into a folder, and overwrites nothing that is somebody's.
 * @returns the path of each file in the folder
 * @throws KitError INPUT_INVALID if there is no such recipe, if the folder's package.json is none, or in a clone without `kit`;
 *   FILES_EXIST if files are in the way, of which nothing is written then; OUTPUT_FAILED if the system refuses to write
 */
export function writeNewApp({ folder, cwd, recipe, kit }: NewAppOptions): readonly string[] {
  const files = appFiles(recipe);
  const former = manifestIn(folder);
  const spec = kit === undefined ? specOfKit(folder, former) : specFor(folder, cwd, kit);
  const own: Manifest = JSON.parse(files.get('package.json') ?? '{}');
  const both = { name: nameFor(folder), ...merged(own, former ?? {}, spec) };
  files.set('package.json', `${JSON.stringify(both, null, 2)}\n`);
  const isOfNpm = former && Object.keys(former).every((name) => OF_NPM.includes(name));
  const paths = [...files.keys()].toSorted();
  const inTheWay = paths.filter(
    // A link that leads nowhere is there, too: what is written would come elsewhere.
    (path) =>
      lstatSync(join(folder, path), { throwIfNoEntry: false }) && !(path === 'package.json' && isOfNpm),
  );
  if (inTheWay.length > 0) {
    const listed = inTheWay.map((path) => `\n  ${path}`).join('');
    throw new KitError('FILES_EXIST', `nothing was written, as files are in the way in ${folder}:${listed}`);
  }
  for (const [path, text] of files) write(join(folder, path), text);
  return paths;
}

function write(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  } catch (cause) {
    throw new KitError('OUTPUT_FAILED', `cannot write ${path}: ${messageOf(cause)}`, { cause });
  }
}

/** The package.json of a folder, if it has one. @throws KitError INPUT_INVALID if it is not one: it would be lost */
function manifestIn(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) return undefined;
  try {
    const read = JSON.parse(readFileSync(path, 'utf8'));
    manifest.parse(read);
    return read; // with its members in their order
  } catch (cause) {
    throw new KitError('INPUT_INVALID', `cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

/** The new package.json, with what a former one has beyond it: versions that somebody has chosen stay. */
function merged(own: Manifest, former: Manifest, spec: string): Manifest {
  return {
    ...former,
    ...own,
    scripts: { ...former.scripts, ...own.scripts },
    dependencies: { ...own.dependencies, ...former.dependencies, [KIT]: spec },
    devDependencies: { ...own.devDependencies, ...former.devDependencies },
    allowScripts: { ...own.allowScripts, ...former.allowScripts },
  };
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
function specOfKit(folder: string, former: Manifest | undefined): string {
  const own = former?.dependencies?.[KIT];
  if (own !== undefined) return own;
  if (!isPackage) throw new KitError('INPUT_INVALID', OF_CLONE);
  const root = resolve(fileURLToPath(kitFolder), '../..');
  const { dependencies, devDependencies } = manifestIn(root) ?? {};
  const spec = dependencies?.[KIT] ?? devDependencies?.[KIT];
  return spec === undefined ? `^${kitVersion}` : specFor(folder, root, spec);
}

const OF_CLONE = `this is a clone of the kit: handlers are in its src/handlers/. For a repository of your own, pack the kit here:
  npm pack
Then, in a new folder, with the path of the file that npm pack has named:
  npm install PATH
  npx hookkit init`;

/** A path counts from the folder of the app, wherever it was given. */
function specFor(folder: string, from: string, spec: string): string {
  const path = spec.replace(/^file:/, '');
  const isPath = path !== spec || /^[./]/.test(spec) || existsSync(resolve(from, spec));
  return isPath ? `file:${relative(folder, resolve(from, path))}` : spec;
}
