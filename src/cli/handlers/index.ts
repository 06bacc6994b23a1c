import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { type Config, loadConfig } from '../../config.ts';
import type { Handlers } from '../../dispatch/handler.ts';
import { checkApp, handlersFile, loadDefinition } from '../../dispatch/load-handlers.ts';
import { KINDS, kindNames } from '../../notification/kinds.ts';
import { printFindings, printJson, table, write } from '../output.ts';
import { endProcess } from '../with-handlers.ts';
import { addTry } from './try.ts';

export function addHandlers(program: Command): void {
  const handlers = program
    .command('handlers')
    .description('List the kinds that your handlers take, check the handlers, or try one of them.');
  handlers
    .command('list', { isDefault: true })
    .description('List each kind, and whether it has a handler (the default); unknown is every other kind.')
    .option('--json', 'print a JSON array, which also has the ids in each kind')
    .action(list);
  handlers
    .command('check')
    .description(
      'Check that the handlers load, their settings and kinds, and their types by your TypeScript.',
    )
    .option('--strict', 'fail where a kind has no handler, which only warns otherwise')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', '\nNo handler runs. After a FAIL the exit code is 1.')
    .action(check);
  addTry(handlers);
}

async function list({ json }: { json?: true }): Promise<void> {
  try {
    const { handlers } = await loadDefinition(loadConfig());
    const all = [...kindNames, 'unknown' as const].map((kind) => {
      const ids: readonly string[] = kind === 'unknown' ? [] : KINDS[kind].ids;
      return { kind, ids, handler: handlers[kind] !== undefined };
    });
    if (json) return await printJson(all);
    const rows = all.map(({ kind, handler }) => [kind, handler ? 'yes' : 'none: ends as skipped']);
    await write(table(['kind', 'handler'], rows));
  } finally {
    endProcess(); // whatever the handlers' files set off while they load
  }
}

interface CheckFlags {
  readonly strict?: true;
  readonly json?: true;
}

const MOST_ERRORS = 10;

async function check({ strict, json }: CheckFlags): Promise<void> {
  try {
    await printFindings(checkHandlers(loadConfig(), strict === true), { json });
  } finally {
    endProcess(); // whatever the handlers' files set off while they load
  }
}

/** All checks of the handlers, one after another. A problem is a finding, never an error. */
async function* checkHandlers(config: Config, isStrict: boolean): AsyncGenerator<Finding, void, undefined> {
  const { loaded, findings } = await checkApp(config);
  yield* findings;
  if (!loaded) return yield findingsOf('everything else').skipped('it needs handlers that load');
  yield checkKinds(loaded.handlers, isStrict);
  yield checkTypes(handlersFile(config));
}

/** Whether every kind has a handler: one that only skips says that this is on purpose. */
function checkKinds(handlers: Handlers, isStrict: boolean): Finding {
  const finding = findingsOf('kinds');
  const missing = kindNames.filter((kind) => !handlers[kind]);
  if (missing.length === 0) return finding.ok('every kind has a handler');
  return finding[isStrict ? 'fail' : 'warn'](
    `no handler for ${missing.join(', ')}. What you do not need, skip on purpose: ${missing[0]}: () => skip('not needed here')`,
  );
}

/** Whether types fit, by the TypeScript and the tsconfig.json of the project that the handlers are in. */
function checkTypes(file: string): Finding {
  const { ok, fail, skipped } = findingsOf('types');
  const project = above(dirname(file), 'tsconfig.json');
  if (project === undefined) return skipped(`there is no tsconfig.json at or above ${dirname(file)}`);
  const compiler = above(dirname(file), 'node_modules/typescript/bin/tsc');
  if (compiler === undefined)
    return skipped('TypeScript is not installed: npm install --save-dev typescript');
  const args = [compiler, '--noEmit', '--pretty', 'false', '--project', project];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status === 0) return ok(`they fit, says tsc for ${project}`);
  const errors = stdout.split('\n').filter((line) => /\berror TS\d+/.test(line));
  return fail(['they do not fit:', ...errors.slice(0, MOST_ERRORS)].join('\n  '));
}

/** A file of this name in a folder, or in one above it. */
function above(folder: string, name: string): string | undefined {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  return folder === dirname(folder) ? undefined : above(dirname(folder), name);
}
