import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { stateJson } from '../../store/lists/event-json.ts';
import { withDatabase } from '../../store/with-store.ts';
import { line, print, printJson, write } from '../print.ts';
import { table } from '../table.ts';
import { resourceArgument } from './resource-argument.ts';

const EXAMPLES = `
Examples:
  npx hookkit state show media:UUhbHm6C
  npx hookkit state show channel:Ny05CEfj --json`;

export function showCommand(): Command {
  return new Command('show')
    .description('Show the state of a media or channel: each name with its value as JSON.')
    .addArgument(resourceArgument())
    .option('--json', 'print a JSON object; its `state` has the values by name')
    .addHelpText('after', EXAMPLES)
    .action(show);
}

async function show(resource: string, { json }: { json?: true }): Promise<void> {
  await withDatabase(loadConfig(), async (store) => {
    const values = await store.state(resource);
    if (json) return printJson({ resource, state: stateJson(values) });
    if (values.length === 0) return print(`${line(resource)} has no state`);
    return write(
      table(
        ['name', 'value'],
        values.map(({ name, value }) => [name, value]),
      ),
    );
  });
}
