import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { recipeNames, writeNewApp } from '../scaffold/new-app.ts';
import { line, print } from './output.ts';

const HELP = `
The command overwrites nothing: if a file is in the way, it names the file and writes nothing.

Recipes, which docs/patterns.md describes: ${recipeNames().join(', ')}`;

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

async function init(dir: string, flags: { recipe?: string; kit?: string }): Promise<void> {
  const cwd = process.cwd();
  const folder = resolve(dir);
  const paths = writeNewApp({ folder, cwd, ...flags }).map((path) => `  ${path}\n`);
  const enter = folder === cwd ? '' : `  cd '${line(relative(cwd, folder))}'\n`;
  await print(`${line(folder)} has now:\n${paths.join('')}\nNow:`);
  await print(`${enter}  npm install\n  npm test\n  npm run dev`);
}
