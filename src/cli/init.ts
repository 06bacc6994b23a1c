import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { KitError } from '../base/errors.ts';
import { newApp, recipeNames } from '../scaffold/new-app.ts';
import { line, print } from './output.ts';

const HELP = `
The command overwrites nothing: if a file is in the way, it names the file and writes nothing.

Recipes, which docs/recipes.md describes: ${recipeNames().join(', ')}`;

export function addInit(program: Command): void {
  program
    .command('init')
    .description('Write a new receiver into a folder: about ten files that are yours.')
    .argument('[dir]', 'the folder; it is made if it is not there', '.')
    .option('--recipe <name>', 'begin with a recipe, and its test, instead of the example')
    .option('--kit <spec>', 'where npm finds the kit: a version, or a packed kit (default: as this one)')
    .addHelpText('after', HELP)
    .action(init);
}

async function init(dir: string, { recipe, kit }: { recipe?: string; kit?: string }): Promise<void> {
  const cwd = process.cwd();
  const folder = resolve(cwd, dir);
  const app = newApp({ folder, cwd, recipe, kit });
  const listed = app.inTheWay.map((path) => `\n  ${path}`).join('');
  if (listed !== '')
    throw new KitError('FILES_EXIST', `nothing was written, as files are in the way in ${folder}:${listed}`);
  app.write();
  const paths = [...app.files.keys()].toSorted().map((path) => `  ${path}\n`);
  const way = relative(cwd, folder);
  const quoted = /^[\w./-]*$/.test(way) ? way : `'${line(way)}'`;
  const enter = way === '' ? '' : `  cd ${quoted}\n`;
  await print(`${line(folder)} has now:\n${paths.join('')}\nNow:`);
  await print(`${enter}  npm install\n  npm test\n  npm run dev`);
}
