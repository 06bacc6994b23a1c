import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import type { Finding } from '../../base/finding.ts';
import { findingsOf } from '../../base/finding.ts';
import { type Config, loadConfig } from '../../config.ts';
import { checkApp, checkKinds } from '../../dispatch/checks/check-app.ts';
import { checkImports } from '../../dispatch/checks/check-imports.ts';
import { checkSteps } from '../../dispatch/checks/check-steps.ts';
import { checkTypes } from '../../dispatch/checks/check-types.ts';
import { handlersFile, loadApp } from '../../dispatch/load-handlers.ts';
import { openApp } from '../../dispatch/open-app.ts';
import { printFindings } from '../findings.ts';
import { handlersHere } from '../handlers-here.ts';
import { interruptible } from '../interruptible.ts';
import { stderrLog } from '../stderr-log.ts';
import { endProcess } from '../terminal.ts';

interface Flags {
  readonly rehearse?: true;
  readonly json?: true;
}

const HELP = `
Checks that the handlers load, that the settings of their app are complete, that every kind has a handler, that types fit (by the
TypeScript of your project), and that nothing imports the inside of the kit. After a FAIL the exit code is 1.

With --rehearse the handler of each kind runs once, with a notification that is made up: are the names of its steps unique? Nothing
is recorded, but what your handlers do to other systems is real.

Examples:
  npx hookkit handlers check
  npx hookkit handlers check --rehearse --json`;

export function checkCommand(): Command {
  return new Command('check')
    .description('Check the handlers: that they load, their settings, kinds, types and imports.')
    .option('--rehearse', 'run the handler of each kind once, and check the names of its steps')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .action(check);
}

async function check({ rehearse, json }: Flags): Promise<void> {
  const config = loadConfig();
  endProcess(); // whatever the handlers' files set off while they load
  await printFindings(examine(config, rehearse === true), json === true);
}

async function* examine(config: Config, isRehearsed: boolean): AsyncGenerator<Finding> {
  const { app, findings } = await checkApp(config);
  yield* findings;
  if (!app) return yield findingsOf('everything else').skipped('it needs handlers that load');
  const file = handlersFile(config);
  yield checkKinds(app.handlers);
  yield await checkTypes(file);
  yield checkImports(file);
  const isWhole = findings.every(({ result }) => result !== 'FAIL');
  if (!isRehearsed)
    yield findingsOf('steps').skipped('--rehearse runs the handlers, and checks the names of steps');
  else if (!isWhole) yield findingsOf('steps').skipped('it needs settings without mistakes');
  else yield* await rehearsed(config);
}

/** All at once: Ctrl-C ends the rehearsal. */
async function rehearsed(config: Config): Promise<Finding[]> {
  const log = stderrLog(config);
  using _ = handlersHere(log);
  const app = await loadApp(config);
  const opened = await openApp(app, { log, clock: systemClock });
  return await interruptible('nothing was recorded', (signal) =>
    Array.fromAsync(checkSteps(app.handlers, { config, app: opened.value, log, signal })),
  ).finally(() => opened.close());
}
