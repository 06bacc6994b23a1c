import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { withDatabase } from '../../store/with-store.ts';
import { line, print, printJson } from '../print.ts';
import { resourceArgument } from './resource-argument.ts';

const EXAMPLES = `
The server may run meanwhile. A handler that runs now still has the state as it was, and may set it again.

Examples:
  npx hookkit state delete media:UUhbHm6C
  npx hookkit state delete channel:Ny05CEfj --json`;

export function deleteCommand(): Command {
  return new Command('delete')
    .description('Delete the whole state of a media or channel.')
    .addArgument(resourceArgument())
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(remove);
}

async function remove(resource: string, { json }: { json?: true }): Promise<void> {
  await withDatabase(loadConfig(), async (store) => {
    const deleted = await store.deleteState(resource);
    if (json) return printJson({ resource, deleted });
    const names = deleted === 1 ? 'name' : 'names';
    await print(
      deleted === 0 ? `${line(resource)} has no state` : `${line(resource)}: ${deleted} ${names} deleted`,
    );
  });
}
