import { Command } from 'commander';
import { examine } from '../examination.ts';
import { printFindings } from './findings.ts';
import { refuseCredentials } from './option-values.ts';
import { stderrLog } from './stderr-log.ts';
import { endProcess } from './terminal.ts';

interface Flags {
  readonly offline?: true;
  readonly url?: readonly string[];
  readonly json?: true;
}

const HELP = `
Each line begins with ok, warn, FAIL or skipped. After a FAIL the exit code is 1. The command changes nothing. Run it as the
user that the server runs as.

Examples:
  npx hookkit doctor
  npx hookkit doctor --offline --json
  npx hookkit doctor --url https://your.host/webhooks/media`;

/** `hookkit doctor`: checks an installation. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Check this installation: Node, configuration, database, disk, key, secrets, clock, provider, the URL.',
    )
    .option('--offline', 'skip the checks that need the network')
    .option('--url <url...>', 'check that these URLs reach the receiver too, beside the registered ones')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .action(doctor);
}

async function doctor({ offline, url: urls = [], json }: Flags): Promise<void> {
  for (const url of urls) refuseCredentials(url);
  endProcess(); // whatever the handlers' files set off while they load
  await printFindings(examine({ isOffline: offline === true, urls, logOf: stderrLog }), json === true);
}
