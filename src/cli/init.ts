import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { recipeNames, writeNewApp } from '../scaffold/new-app.ts';
import { line, print } from './output.ts';

export function addInit(program: Command): void {
  program
    .command('init')
    .description(
      'Write a new receiver into a folder: about ten files that are yours. No file but package.json changes.',
    )
    .argument('[dir]', 'the folder; init makes it where it is missing', '.')
    .option('--recipe <name>', 'begin with this recipe and its test instead of the example')
    .option('--kit <spec>', 'where npm finds the kit: a version, or a packed kit (default: that of this kit)')
    .addHelpText('after', `\nRecipes, which docs/patterns.md describes: ${recipeNames().join(', ')}`)
    .action(init);
}

async function init(dir: string, flags: { recipe?: string; kit?: string }): Promise<void> {
  const cwd = process.cwd();
  const folder = resolve(dir);
  const { files, byHand, manager, scripts } = writeNewApp({ folder, cwd, ...flags });
  const done = [...files].map(([path, what]) => `  ${what.padEnd(10)}  ${line(path)}\n`).join('');
  await print(`In ${line(folder)}:\n${done}`);
  if (byHand.length > 0) await print(`By hand:\n${byHand.map((what) => `  ${line(what)}\n`).join('')}`);
  const runs = ['test', 'dev'].filter((name) => scripts.includes(name)).map((name) => `run ${name}`);
  const next = ['install', ...runs].map((command) => `  ${manager} ${command}`);
  const enter = folder === cwd ? [] : [`  cd '${line(relative(cwd, folder))}'`];
  await print(['Now:', ...enter, ...next].join('\n'));
}
