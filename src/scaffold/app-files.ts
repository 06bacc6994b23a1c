import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { KitError } from '../base/errors.ts';
import { KIT, kitFolder } from '../base/program.ts';

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
export function appFiles(recipe: string | undefined): Map<string, string> {
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
