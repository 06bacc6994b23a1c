import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { admitWaiting } from '../../receiver/admissions.ts';
import { withDatabase } from '../../store/with-store.ts';
import { print, printJson } from '../print.ts';

interface Flags {
  readonly webhook?: string;
  readonly json?: true;
}

const EXAMPLES = `
webhooks import and a start of the server do this too.

Examples:
  npx hookkit quarantine admit
  npx hookkit quarantine admit --webhook 2yW4KmiG --json`;

export function admitCommand(): Command {
  return new Command('admit')
    .description(
      'Admit each notification in quarantine that a secret known now verifies: it becomes an event.',
    )
    .option('--webhook <id>', 'only notifications of this webhook')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(admit);
}

async function admit({ webhook, json }: Flags): Promise<void> {
  const config = loadConfig();
  await withDatabase(config, async (store) => {
    const admitted = await admitWaiting(store, config, webhook);
    const kept = await store.quarantineSize(webhook);
    if (json) return printJson({ admitted, kept });
    await print(`${admitted} admitted, ${kept} kept${kept > 0 ? ': no known secret verifies them' : ''}`);
  });
}
