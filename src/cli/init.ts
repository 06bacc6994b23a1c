import { relative, resolve } from 'node:path';
import { Command } from 'commander';
import { KitError } from '../base/errors.ts';
import { needsSettings, recipeNames } from '../scaffold/app-files.ts';
import { newApp } from '../scaffold/new-app.ts';
import { line, print, say } from './print.ts';
import { terminal } from './terminal.ts';

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
  const { cwd } = terminal();
  const folder = resolve(cwd, dir);
  const app = newApp({ folder, cwd, recipe, kit });
  const listed = app.inTheWay.map((path) => `  ${path}`).join('\n');
  if (app.inTheWay.length > 0 && !force)
    throw new KitError(
      'FILES_EXIST',
      `nothing was written, as these files are in the way in ${folder}:\n${listed}\nMove them away, name another folder, or overwrite them with --force (package.json keeps its other members)`,
    );
  if (app.inTheWay.length > 0) say(`overwrites in ${line(folder)}:\n${listed}`);
  app.write();
  await print(written(folder, [...app.files.keys()], recipe));
  if (/^file:(\.\.|\/)/.test(app.spec))
    say(`\n${line(app.spec)} is outside of the folder: other machines that install the app need it, too`);
}

/** A path as a shell takes it. */
function inShell(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

function written(folder: string, paths: readonly string[], recipe: string | undefined): string {
  const way = relative(terminal().cwd, folder);
  const settings =
    recipe === undefined || !needsSettings(recipe)
      ? []
      : ['', `.env.example says what the recipe ${recipe} needs in .env.`];
  return [
    `${line(folder)} has now:`,
    ...paths.toSorted().map((path) => `  ${path}`),
    ...settings,
    '',
    'Now:',
    ...(way === '' ? [] : [`  cd ${inShell(line(way))}`]),
    '  npm install',
    '  npm test',
    '  npm run dev',
  ].join('\n');
}
