import { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { isEventId } from '../../store/event-id.ts';
import type { EventFilter, EventStore, StoredEvent } from '../../store/event-store.ts';
import { eventJson } from '../../store/lists/event-json.ts';
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
    .description('List events, the newest received first; of one media or channel, the newest that happened.')
    .option('--limit <number>', 'list at most so many', atLeastOne, 50)
    .option('--before <event>', 'list the events behind this one in the list: the next page')
    .option('--json', 'print a JSON object a line')
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list({ limit, before, json, ...flags }: Flags): Promise<void> {
  const filter = filterOf(flags);
  if (before !== undefined && !isEventId(before))
    throw new KitError('INPUT_INVALID', '--before takes the id of an event, as this list shows it');
  await withDatabase(loadConfig(), async (store) => {
    if (before !== undefined && !(await store.event(before)))
      throw new KitError('EVENT_UNKNOWN', `there is no event ${before}, so nothing is before it`);
    const found = await newest(store, filter, { before, limit: limit + 1 });
    const events = found.slice(0, limit);
    if (json) await write(events.map((event) => `${JSON.stringify(eventJson(event))}\n`).join(''));
    else if (events.length > 0) await write(eventTable(events));
    else say('no events');
    if (found.length > limit) say(`there are more: --before ${events.at(-1)?.id}`);
  });
}

/** One stretch of a search may find few: it looks at some thousand events. */
async function newest(
  store: Pick<EventStore, 'search'>,
  filter: EventFilter,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  let after = before;
  do {
    const found = await store.search(filter, { after, limit: limit - events.length });
    events.push(...found.events);
    after = found.next;
  } while (after !== undefined && events.length < limit);
  return events;
}
