import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { examineHandlers } from '../../dispatch/checks/examine-handlers.ts';
import { printFindings } from '../findings.ts';
import { handlersHere } from '../handlers-here.ts';
import { interruptible } from '../interruptible.ts';
import { stderrLog } from '../stderr-log.ts';

interface Flags {
  readonly rehearse?: true;
  readonly strict?: true;
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
    .option('--strict', 'fail where a kind has no handler, which only warns otherwise')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .action(check);
}

async function check({ rehearse, strict, json }: Flags): Promise<void> {
  const config = loadConfig();
  const log = stderrLog(config);
  using _ = handlersHere(log);
  // While it loads them, nothing looks at a signal: Ctrl-C then ends the process as ever.
  const rehearsal =
    rehearse &&
    (<T>(work: (signal: AbortSignal) => Promise<T>) => interruptible('nothing was recorded', work));
  await printFindings(examineHandlers(config, { isStrict: strict === true, log, rehearsal }), json === true);
}
