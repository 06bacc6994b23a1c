import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { KitError, messageOf } from '../base/errors.ts';
import { isPackage, kitFolder, kitVersion } from '../base/program.ts';
import { line, print, say } from './print.ts';
import { terminal } from './terminal.ts';

const KIT = 'webhook-receiver-kit';
const TEMPLATES = fileURLToPath(new URL('templates/', kitFolder));
const RECIPES = join(import.meta.dirname, '../recipes');

/** Files that npm would leave out of the package, or read as its own, have other names among the templates. */
const NAMES: Readonly<Record<string, string>> = {
  'manifest.json': 'package.json',
  gitignore: '.gitignore',
  dockerignore: '.dockerignore',
  'env.example': '.env.example',
};

/** By which names an app imports what a recipe imports. */
const DOORS: Readonly<Record<string, string>> = {
  "'../index.ts'": `'${KIT}'`,
  "'../provider/index.ts'": `'${KIT}/provider'`,
};

/** What `npm install` makes of package.json where there is none. Anything more is somebody's. */
const OF_NPM = ['dependencies', 'devDependencies', 'optionalDependencies', 'allowScripts'];

/** The members of package.json that are objects of several entries; each entry counts for itself. */
const TABLES = ['scripts', ...OF_NPM];

type Manifest = Record<string, unknown>;
type Table = Readonly<Record<string, string>>;

interface Flags {
  readonly recipe?: string;
  readonly kit?: string;
  readonly force?: true;
}

const EXAMPLES = `
The command overwrites nothing: if a file is in the way, it names the file and writes nothing. A package.json in which npm install has
recorded packages, and nothing else, is not in the way.

Recipes, which docs/recipes.md describes: ${recipeNames().join(', ')}

Examples:
  npx hookkit init
  npx hookkit init my-receiver --recipe forward`;

export function initCommand(): Command {
  return new Command('init')
    .description(
      'Write a new receiver into a folder: about ten files that are yours, and the kit as a dependency.',
    )
    .argument('[dir]', 'the folder; it is made if it is not there', '.')
    .option('--recipe <name>', 'begin with a recipe, and its test, instead of the example')
    .option(
      '--kit <spec>',
      'where npm finds the kit: a version, or the path or URL of a packed kit (default: from where this one was installed)',
    )
    .option('--force', 'overwrite files that are in the way')
    .addHelpText('after', EXAMPLES)
    .action(init);
}

async function init(dir: string, { recipe, kit, force }: Flags): Promise<void> {
  const folder = resolve(terminal().cwd, dir);
  const files = appFiles(recipe);
  const manifest = JSON.parse(files.get('package.json') ?? '{}');
  const former = manifestIn(folder);
  const spec = kit === undefined ? specOfKit(folder, former) : specFor(folder, terminal().cwd, kit);
  files.set('package.json', json(withKit(manifest, former, folder, spec)));
  const isFree = (path: string) =>
    !existsSync(join(folder, path)) || (path === 'package.json' && former !== undefined && isOfNpm(former));
  const inTheWay = [...files.keys()].filter((path) => !isFree(path)).toSorted();
  const listed = inTheWay.map((path) => `  ${path}`).join('\n');
  if (inTheWay.length > 0 && !force)
    throw new KitError(
      'FILES_EXIST',
      `nothing was written, as these files are in the way in ${folder}:\n${listed}\nMove them away, name another folder, or overwrite them with --force (package.json keeps its other members)`,
    );
  if (inTheWay.length > 0) say(`overwrites in ${line(folder)}:\n${listed}`);
  for (const [path, text] of files) write(join(folder, path), text, isFree(path) && path !== 'package.json');
  await print(written(folder, [...files.keys()], recipe));
  if (/^file:(\.\.|\/)/.test(spec))
    say(`\n${line(spec)} is outside of the folder: other machines that install the app need it, too`);
}

function write(path: string, text: string, isNew: boolean): void {
  mkdirSync(dirname(path), { recursive: true });
  // What has come there in this moment is not overwritten either.
  writeFileSync(path, text, { flag: isNew ? 'wx' : 'w' });
}

/** Each file of the app with its text. */
function appFiles(recipe: string | undefined): Map<string, string> {
  const files = templates('app');
  if (recipe === undefined) return files;
  if (!recipeNames().includes(recipe))
    throw new KitError(
      'INPUT_INVALID',
      `there is no recipe ${recipe}; there are ${recipeNames().join(', ')}`,
    );
  files.delete('src/handlers.test.ts'); // of the example
  files.set(`src/${recipe}.ts`, recipeText(recipe));
  for (const [path, text] of templates(`recipes/${recipe}`)) {
    files.set(path, path === '.env.example' ? `${files.get(path) ?? ''}${text}` : text);
  }
  return files;
}

function templates(folder: string): Map<string, string> {
  const root = join(TEMPLATES, folder);
  const paths = readdirSync(root, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  return new Map(paths.map((path) => [NAMES[path] ?? path, readFileSync(join(root, path), 'utf8')]));
}

function recipeNames(): string[] {
  if (!existsSync(RECIPES)) return [];
  return readdirSync(RECIPES).flatMap((name) => /^([\w-]+)\.ts$/.exec(name)?.[1] ?? []);
}

function recipeText(recipe: string): string {
  const text = readFileSync(join(RECIPES, `${recipe}.ts`), 'utf8');
  return Object.entries(DOORS).reduce(
    (all, [own, door]) => all.replaceAll(`from ${own}`, `from ${door}`),
    text,
  );
}

/** @throws KitError INPUT_INVALID if it is not JSON: it would be lost */
function manifestIn(folder: string): Manifest | undefined {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new KitError('INPUT_INVALID', `cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

function isOfNpm(manifest: Manifest): boolean {
  return Object.keys(manifest).every((name) => OF_NPM.includes(name));
}

function table(manifest: Manifest | undefined, name: string): Table {
  return (manifest?.[name] ?? {}) as Table;
}

/** The new package.json, with what a former one has beyond it. */
function withKit(manifest: Manifest, former: Manifest | undefined, folder: string, spec: string): Manifest {
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
function specOfKit(folder: string, former: Manifest | undefined): string {
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
function specFor(folder: string, from: string, spec: string): string {
  const path = spec.replace(/^file:/, '');
  const isPath = path !== spec || /^[./]/.test(spec) || existsSync(resolve(from, spec));
  return isPath ? `file:${relative(folder, resolve(from, path))}` : spec;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function written(folder: string, paths: readonly string[], recipe: string | undefined): string {
  const way = relative(terminal().cwd, folder);
  const settings =
    recipe === undefined ? [] : ['', `.env.example says what the recipe ${recipe} needs in .env.`];
  return [
    `${line(folder)} has now:`,
    ...paths.toSorted().map((path) => `  ${path}`),
    ...settings,
    '',
    'Now:',
    ...(way === '' ? [] : [`  cd ${line(way)}`]),
    '  npm install',
    '  npm test',
    '  npm run dev',
  ].join('\n');
}
