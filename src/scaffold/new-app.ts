import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { KitError, messageOf } from '../base/errors.ts';
import { KIT, kitFolder } from '../base/program.ts';
import { completed, findKit, type Manifest, manifestIn } from './manifest.ts';

const TEMPLATES = fileURLToPath(new URL('templates/', kitFolder));
const RECIPES = join(import.meta.dirname, '../recipes');

/** Files that npm would leave out of the package, or read as its own, have other names among the templates. */
const NAMES: Readonly<Record<string, string>> = {
  'manifest.json': 'package.json',
  gitignore: '.gitignore',
  dockerignore: '.dockerignore',
  'env.example': '.env.example',
  nvmrc: '.nvmrc',
  'github/workflows/test.yml': '.github/workflows/test.yml',
};

/**
 * Each file of a new app with its text, by its path.
 * @param recipe begins with this recipe and its test, in place of the example
 * @throws KitError INPUT_INVALID if there is no such recipe
 */
function appFiles(recipe?: string): Map<string, string> {
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

/** The lines that the kit needs in a file that init leaves alone. */
const NEEDS: Readonly<Record<string, string>> = {
  '.gitignore': 'the lines node_modules/, data/ and .env',
  'tsconfig.json': '"module": "nodenext", "noEmit" and "allowImportingTsExtensions"',
};

/** The lock files of other package managers than npm. */
const LOCKS: Readonly<Record<string, string>> = { pnpm: 'pnpm-lock.yaml', yarn: 'yarn.lock' };

/** How these treat the package node, which has an install script. */
const OLD_NODE: Readonly<Record<string, string>> = {
  pnpm: 'pnpm install stops at the install script of the package node: run pnpm approve-builds node after it',
  yarn: 'yarn does not run the install script of the package node: install Node.js 24 in place of the package',
};

const CODE = /^src$|\.[cm]?[jt]sx?$/;

/** Whether a folder is a repository with code of its own: a src, a file of code, or a dependency beside the kit. */
function hasCode(folder: string, manifest: Manifest | undefined): boolean {
  const others = Object.keys(manifest?.dependencies ?? {}).filter((name) => name !== KIT);
  return others.length > 0 || (existsSync(folder) && readdirSync(folder).some((name) => CODE.test(name)));
}

/** The files of these that a repository gets: a folder of handlers with their tests, which are ES modules, whatever else is there. */
function ofRepository(files: ReadonlyMap<string, string>, type: unknown): Map<string, string> {
  const sources = [...files].filter(([path]) => path.startsWith('src/'));
  const moved = sources.map(([path, text]): [string, string] => [
    path.replace('src/handlers.ts', 'src/index.ts').replace('src/', 'src/handlers/'),
    text.replaceAll("'./handlers.ts'", "'./index.ts'"),
  ]);
  if (type !== 'module') moved.push(['src/handlers/package.json', '{ "type": "module" }\n']);
  return new Map(moved);
}

export interface NewAppOptions {
  /** an absolute path; the folder need not be there */
  readonly folder: string;
  /** what a path in `kit` counts from, and where the command was typed */
  readonly cwd: string;
  readonly recipe?: string | undefined;
  /** where npm finds the kit; without it, from where the running one was installed */
  readonly kit?: string | undefined;
}

type Done = 'written' | 'completed' | 'left alone';

export interface NewApp {
  /** what became of each file, by its path */
  readonly files: ReadonlyMap<string, Done>;
  /** what is left to do by hand, a sentence each */
  readonly byHand: readonly string[];
  /** what installs packages and runs scripts: npm, or what has a lock file there */
  readonly manager: string;
  /** the scripts in package.json that are the kit's */
  readonly scripts: readonly string[];
}

/**
 * Writes an app of its own into a folder. It completes package.json, and leaves every other file that is there alone. A
 * repository with code of its own gets handlers, a test and scripts, and nothing else.
 * @throws KitError INPUT_INVALID, and nothing is written, if there is no such recipe, if the folder's package.json is none, if `kit`
 *   is a folder, or in a clone without `kit`; OUTPUT_FAILED if the system refuses to write
 */
export function writeNewApp({ folder, cwd, recipe, kit }: NewAppOptions): NewApp {
  const isThere = (path: string) => lstatSync(join(folder, path), { throwIfNoEntry: false }) !== undefined;
  const all = appFiles(recipe);
  const former = manifestIn(folder);
  const isRepository = hasCode(folder, former);
  const { spec, packed } = findKit({ folder, cwd, kit, former, isRepository });
  const own: Manifest = JSON.parse(all.get('package.json') ?? '{}');
  all.delete('package.json');
  const { manifest, scripts, byHand } = completed({ own, former, isRepository, spec });
  const files = isRepository ? ofRepository(all, manifest.type) : all;
  const hasHandlers = ['src/handlers.ts', 'src/handlers/index.ts'].some(isThere);

  const done = new Map<string, Done>();
  for (const [path, text] of files) {
    // A link that leads nowhere is there, too: what is written would come elsewhere.
    if (isThere(path)) done.set(path, 'left alone');
    else if (!(hasHandlers && path.startsWith('src/'))) {
      write(join(folder, path), (to) => writeFileSync(to, text));
      done.set(path, 'written');
    }
  }
  if (isDeepStrictEqual(former, manifest)) done.set('package.json', 'left alone');
  else {
    const named = { ...(former ? {} : { name: nameFor(folder) }), ...manifest };
    write(join(folder, 'package.json'), (to) => writeFileSync(to, `${JSON.stringify(named, null, 2)}\n`));
    done.set('package.json', former ? 'completed' : 'written');
  }
  if (packed !== undefined && !isThere(basename(packed))) {
    write(join(folder, basename(packed)), (to) => copyFileSync(packed, to));
    done.set(basename(packed), 'written');
  }
  if (hasHandlers) byHand.push('Your handlers stay; the example and its test were not written');
  for (const [path, what] of Object.entries(NEEDS))
    if (isThere(path) && done.get(path) !== 'written') byHand.push(`${path} needs ${what}`);
  if (recipe && done.get('.env.example') !== 'written')
    byHand.push(`.env needs the settings that node_modules/${KIT}/dist/recipes/${recipe}.ts names`);
  const manager = Object.keys(LOCKS).find((name) => isThere(LOCKS[name] ?? '')) ?? 'npm';
  if (manager !== 'npm' && !isRepository)
    byHand.push(`Dockerfile and .github/workflows/test.yml install with npm ci: have them use ${manager}`);
  const advice = OLD_NODE[manager];
  if (advice && manifest.devDependencies?.node) byHand.push(advice);
  return { files: new Map([...done].toSorted()), byHand, manager, scripts };
}

function write(path: string, doWrite: (path: string) => void): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    doWrite(path);
  } catch (cause) {
    throw new KitError('OUTPUT_FAILED', `cannot write ${path}: ${messageOf(cause)}`, { cause });
  }
}

/** A valid name of a package, after the folder. */
function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z\d-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return name === '' || name === KIT ? 'receiver' : name;
}
