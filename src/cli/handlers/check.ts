import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { type Config, loadConfig } from '../../config.ts';
import type { Handlers } from '../../dispatch/handler.ts';
import { checkApp, handlersFile } from '../../dispatch/load-handlers.ts';
import { kindNames } from '../../notification/kinds.ts';
import { printFindings } from '../findings.ts';
import { handlersHere } from '../handlers-here.ts';
import { stderrLog } from '../stderr-log.ts';

const MOST_ERRORS = 10;

interface Flags {
  readonly strict?: true;
  readonly json?: true;
}

const HELP = `
Checks that the handlers load, that the settings of their app are complete, that every kind has a handler, and that types fit (by the
TypeScript of your project). No handler runs. After a FAIL the exit code is 1.

Examples:
  npx hookkit handlers check
  npx hookkit handlers check --strict --json`;

export function checkCommand(): Command {
  return new Command('check')
    .description('Check the handlers: that they load, their settings, kinds and types.')
    .option('--strict', 'fail where a kind has no handler, which only warns otherwise')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .action(check);
}

async function check({ strict, json }: Flags): Promise<void> {
  const config = loadConfig();
  using _ = handlersHere(stderrLog(config));
  await printFindings(checkHandlers(config, strict === true), json === true);
}

/** All checks of the handlers, one after another. A problem is a finding, never an error. */
async function* checkHandlers(config: Config, isStrict: boolean): AsyncGenerator<Finding, void, undefined> {
  const { loaded, findings } = await checkApp(config);
  yield* findings;
  if (!loaded) return yield findingsOf('everything else').skipped('it needs handlers that load');
  yield checkKinds(loaded.handlers, isStrict);
  yield await checkTypes(handlersFile(config));
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
async function checkTypes(file: string): Promise<Finding> {
  const { ok, fail, skipped } = findingsOf('types');
  const project = above(dirname(file), 'tsconfig.json');
  if (project === undefined) return skipped(`there is no tsconfig.json at or above ${dirname(file)}`);
  const compiler = above(dirname(file), 'node_modules/typescript/bin/tsc');
  if (compiler === undefined)
    return skipped('TypeScript is not installed: npm install --save-dev typescript');
  const args = [compiler, '--noEmit', '--pretty', 'false', '--project', project];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [out, code] = await Promise.all([text(child.stdout), closed]);
  if (code === 0) return ok(`they fit, says tsc for ${project}`);
  const errors = out.split('\n').filter((line) => /\berror TS\d+/.test(line));
  return fail(['they do not fit:', ...errors.slice(0, MOST_ERRORS)].join('\n  '));
}

/** A file of this name in a folder, or in one above it. */
function above(folder: string, name: string): string | undefined {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  return folder === dirname(folder) ? undefined : above(dirname(folder), name);
}
