import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { KitError } from '../base/errors.ts';
import { recipeNames } from '../scaffold/app-files.ts';
import { newApp } from '../scaffold/new-app.ts';
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
  await print(written(folder, [...app.files.keys()]));
}

function written(folder: string, paths: readonly string[]): string {
  const way = relative(process.cwd(), folder);
  const quoted = /^[\w./-]*$/.test(way) ? way : `'${line(way)}'`;
  return [
    `${line(folder)} has now:`,
    ...paths.toSorted().map((path) => `  ${path}`),
    '',
    'Now:',
    ...(way === '' ? [] : [`  cd ${quoted}`]),
    '  npm install',
    '  npm test',
    '  npm run dev',
  ].join('\n');
}
