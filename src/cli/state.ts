import type { Command } from 'commander';
import { plural } from '../base/text.ts';
import { withReader } from '../store/open.ts';
import { reminderJson, stateJson } from '../store/queue/lists/event-json.ts';
import { changing } from './change.ts';
import { reminderTable } from './events/list-and-show.ts';
import { configOf, resource, subscriber, subscriberNamed } from './options.ts';
import { line, printResult, table } from './output.ts';

/** The values that handlers keep for a media or channel in `ctx.state`. */
export function addState(program: Command): void {
  const state = program
    .command('state')
    .description('Show or delete what handlers keep for a media or channel (ctx.state).');
  state
    .command('show')
    .description('Show the state of a media or channel: each name with its value as JSON, and its reminders.')
    .action(show);
  state
    .command('delete')
    .description('Delete the whole state of a media or channel.')
    .addHelpText('after', '\nA handler that runs now still has the state as it was, and may set it again.')
    .action(remove);
  for (const command of state.commands)
    command
      .argument('<resource>', 'media:ID or channel:ID, as `hookkit events list` shows it', resource)
      .option('--subscriber <name>', 'whose state (default: main, the handlers without a name)', subscriber);
}

type Flags = { subscriber?: string; json?: true };

async function show(resource: string, { subscriber: name, json }: Flags, command: Command): Promise<void> {
  const lane = { resource, subscriber: subscriberNamed(name) };
  const [values, set] = await withReader(configOf(command), ({ queue }) =>
    Promise.all([queue.state(lane), queue.remindersOf(lane)]),
  );
  const reminders = set.map(reminderJson);
  const rows = values.map(({ name, value }) => [name, value]);
  const shown = rows.length > 0 ? table(['name', 'value'], rows) : `${line(resource)} has no state\n`;
  await printResult(json, { ...lane, state: stateJson(values), reminders }, shown + reminderTable(reminders));
}

async function remove(resource: string, { subscriber: name, json }: Flags, command: Command): Promise<void> {
  const lane = { resource, subscriber: subscriberNamed(name) };
  const deleted = await changing(command, ({ queue }) => queue.deleteState(lane));
  await printResult(json, { ...lane, deleted }, `${line(resource)}: ${plural(deleted, 'name')} deleted`);
}
