import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { stateJson } from '../store/lists/event-json.ts';
import { withDatabase } from '../store/open.ts';
import { resource } from './options.ts';
import { line, print, printJson, table, write } from './output.ts';

interface Flags {
  readonly json?: true;
}

const DELETE_HELP =
  '\nThe server may run meanwhile. A handler that runs now still has the state as it was, and may set it again.';

/** What handlers keep for a media or channel in `ctx.state`. */
export function addState(program: Command): void {
  const state = program
    .command('state')
    .description('Show or delete what handlers keep for a media or channel (ctx.state).');
  state
    .command('show')
    .description('Show the state of a media or channel: each name with its value as JSON.')
    .argument('<resource>', 'media:ID or channel:ID, as `hookkit events list` shows it', resource)
    .option('--json', 'print a JSON object; its `state` has the values by name')
    .action(show);
  state
    .command('delete')
    .description('Delete the whole state of a media or channel.')
    .argument('<resource>', 'media:ID or channel:ID, as `hookkit events list` shows it', resource)
    .option('--json', 'print the result as JSON')
    .addHelpText('after', DELETE_HELP)
    .action(remove);
}

async function show(resource: string, { json }: Flags): Promise<void> {
  const values = await withDatabase(loadConfig(), (store) => store.state(resource));
  if (json) return printJson({ resource, state: stateJson(values) });
  if (values.length === 0) return print(`${line(resource)} has no state`);
  const rows = values.map(({ name, value }) => [name, value]);
  await write(table(['name', 'value'], rows));
}

async function remove(resource: string, { json }: Flags): Promise<void> {
  const deleted = await withDatabase(loadConfig(), (store) => store.deleteState(resource));
  if (json) return printJson({ resource, deleted });
  if (deleted === 0) return print(`${line(resource)} has no state`);
  await print(`${line(resource)}: ${deleted} ${deleted === 1 ? 'name' : 'names'} deleted`);
}
