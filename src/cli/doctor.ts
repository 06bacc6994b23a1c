import { type Command, Option } from 'commander';
import { examine } from '../examination.ts';
import { receiverUrl } from './options.ts';
import { printFindings } from './output.ts';
import { endProcess } from './with-handlers.ts';

interface Flags {
  readonly offline?: true;
  readonly url?: readonly string[];
  readonly json?: true;
}

const HELP =
  '\nAfter a FAIL the exit code is 1. The command changes nothing. Run it as the user of the server.';

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'Check this installation: configuration, database, disk, key, secrets, clock, provider, URLs.',
    )
    .option('--offline', 'skip the checks that need the network')
    .addOption(
      new Option('--url <url...>', 'check these URLs, too, beside the registered ones')
        .argParser((text, before: readonly string[] = []) => [...before, receiverUrl(text).href])
        .conflicts('offline'),
    )
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .action(doctor);
}

async function doctor({ offline, url: urls = [], json }: Flags): Promise<void> {
  try {
    await printFindings(examine({ isOffline: offline === true, urls }), { json });
  } finally {
    endProcess(); // whatever the handlers' files set off while they load
  }
}
