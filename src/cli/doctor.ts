import { type Command, Option } from 'commander';
import { examine } from '../examination.ts';
import { receiverUrl } from './options.ts';
import { printFindings, say } from './output.ts';
import { loadingOnly } from './with-handlers.ts';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('Check this installation: settings, database, disk, key, secrets, clock, provider, URLs.')
    .option('--offline', 'skip the checks that need the network')
    .addOption(
      new Option('--url <url...>', 'check these URLs, too')
        .argParser((text, before: readonly string[] = []) => [...before, receiverUrl(text).href])
        .conflicts('offline'),
    )
    .addOption(new Option('--alert', 'post a test message to ALERT_URL, too').conflicts('offline'))
    .addHelpText('after', '\nAfter a FAIL the exit code is 1. Run it as the user of the receiver.')
    .action(loadingOnly(doctor));
}

type Flags = { offline?: true; url?: readonly string[]; alert?: true; json?: true };

function doctor(flags: Flags, command: Command) {
  const { offline: isOffline = false, url: urls = [], alert: isAlertTried = false } = flags;
  const findings = examine({ isOffline, isAlertTried, urls, tell: say, flags: command.optsWithGlobals() });
  return printFindings(findings, flags);
}
