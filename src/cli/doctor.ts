import { Command } from 'commander';
import { KitError } from '../base/errors.ts';
import { examine } from '../examination.ts';
import { printFindings } from './findings.ts';
import { receiverUrl } from './option-values.ts';
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
    .option(
      '--url <url...>',
      'check that these URLs reach the receiver too, beside the registered ones',
      urlToo,
    )
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .action(doctor);
}

function urlToo(text: string, before: readonly string[] = []): readonly string[] {
  receiverUrl(text);
  return [...before, text];
}

async function doctor({ offline, url: urls = [], json }: Flags): Promise<void> {
  if (offline && urls.length > 0)
    throw new KitError(
      'INPUT_INVALID',
      '--url needs the network, which --offline leaves alone: give one of them',
    );
  endProcess(); // whatever the handlers' files set off while they load
  await printFindings(examine({ isOffline: offline === true, urls }), json === true);
}
