import { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { parseEventId } from '../../store/event-id.ts';
import { eventJson } from '../../store/event-json.ts';
import { withDatabase } from '../../store/with-store.ts';
import { atLeastOne } from '../option-values.ts';
import { say, write } from '../print.ts';
import { eventTable } from './event-rows.ts';
import { addFilterOptions, type FilterFlags, filterOf } from './filter-options.ts';

interface Flags extends FilterFlags {
  readonly limit: number;
  readonly before?: string;
  readonly json?: true;
}

const EXAMPLES = `
Examples:
  npx hookkit events list --status dead
  npx hookkit events list --kind channels --since 2h
  npx hookkit events list --resource media:UUhbHm6C --json`;

export function listCommand(): Command {
  return addFilterOptions(new Command('list'))
    .description('List events, the newest received first.')
    .option('--limit <number>', 'list at most so many', atLeastOne, 50)
    .option('--before <event>', 'list events received before this one: the next page')
    .option('--json', 'print a JSON object a line')
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list({ limit, before, json, ...flags }: Flags): Promise<void> {
  const filter = filterOf(flags);
  if (before !== undefined && !parseEventId(before))
    throw new KitError('INPUT_INVALID', '--before takes the id of an event, as this list shows it');
  await withDatabase(loadConfig(), async (store) => {
    if (before !== undefined && !(await store.event(before)))
      throw new KitError('EVENT_UNKNOWN', `there is no event ${before}, so nothing is before it`);
    const found = await store.events(filter, { before, limit: limit + 1 });
    const events = found.slice(0, limit);
    if (json) await write(events.map((event) => `${JSON.stringify(eventJson(event))}\n`).join(''));
    else if (events.length > 0) await write(eventTable(events));
    else say('no events');
    if (found.length > limit) say(`there are more: --before ${events.at(-1)?.id}`);
  });
}
