import type { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { headlineOf } from '../../base/thrown.ts';
import type { StoredEvent, StoreReader } from '../../store/event-store.ts';
import { withReader } from '../../store/open.ts';
import { eventJson, iso, type reminderJson, wholeEventJson } from '../../store/queue/lists/event-json.ts';
import * as options from '../options.ts';
import { beginning, members, print, printResult, say, table } from '../output.ts';

type Flags = options.FilterFlags & { limit: number; before?: string; json?: true };

export function addListAndShow(events: Command): void {
  options
    .withFilter(events.command('list'))
    .description('List events, the newest received first; of one media or channel, the newest that happened.')
    .option('--limit <number>', 'list at most this many', options.wholeNumber(1), 50)
    .option('--before <event>', 'list the events after this one: the next page', options.idOfEvent)
    .action(list);
  events
    .command('show')
    .description('Show one event: payload, steps, attempts, and the state of its media or channel.')
    .argument('<id>', 'the id of the event, as `hookkit events list` shows it', options.idOfEvent)
    .action(show);
}

async function list({ limit, before, json, ...flags }: Flags, command: Command): Promise<void> {
  const filter = options.filterOf(flags);
  await withReader(options.configOf(command), async (store) => {
    if (before !== undefined) await requiredEvent(store, before);
    const found: StoredEvent[] = [];
    let after = before;
    // One stretch of a search may find few: it looks at some thousand events.
    do {
      const page = await store.queue.search({ filter, after, limit: limit + 1 - found.length });
      found.push(...page.events);
      after = page.next;
    } while (after !== undefined && found.length <= limit);
    const events = found.slice(0, limit);
    if (events.length === 0) say('no events');
    else if (json) await print(events.map((event) => JSON.stringify(eventJson(event))).join('\n'));
    else await print(eventTable(events));
    if (found.length > limit) say(`there are more: --before ${events.at(-1)?.id}`);
  });
}

const HEAD = ['id', 'event time', 'received', 'kind', 'resource', 'status', 'attempts', 'last error'];
/** In characters, of an error. */
const LONGEST = 100;

/** Events as a table, a line an event. Their ids end with their subscribers. */
function eventTable(events: readonly StoredEvent[]): string {
  const second = (time: number) => `${iso(time).slice(0, 19)}Z`;
  const rows = events.map((event) => {
    const { id, eventTime, receivedAt, kind, resource, status, attempts, lastError, body } = event;
    const time = eventTime === 0 ? '-' : second(eventTime);
    const note = body === undefined ? '(pruned)' : beginning(headlineOf(lastError ?? ''), LONGEST);
    return [id, time, second(receivedAt), kind, resource, status, String(attempts), note];
  });
  return table(HEAD, rows);
}

async function show(id: string, { json }: { json?: true }, command: Command): Promise<void> {
  await withReader(options.configOf(command), async (store) => {
    const event = (await wholeEventJson(store, id)) ?? unknownEvent(id);
    const { history, reminders, ...shown } = event;
    const origin = event.origin === 'notification' ? null : event.origin;
    const siblings = event.siblings.map(({ id, status }) => `${id}: ${status}`).join('\n') || null;
    const body = event.body === null ? '(pruned)' : JSON.stringify(JSON.parse(event.body), null, 2);
    const text = members({ ...shown, origin, subscriber: event.subscriber || null, siblings, body });
    await printResult(json, event, `${text}${reminderTable(reminders)}\n${historyTable(history)}`);
  });
}

/** The reminders of a media or channel as a table, if it has any. */
export function reminderTable(reminders: readonly ReturnType<typeof reminderJson>[]): string {
  const rows = reminders.map(({ name, due_at, data }) => [name, due_at, JSON.stringify(data)]);
  return rows.length === 0 ? '' : `\n${table(['reminder', 'due', 'data'], rows)}`;
}

/** The event of an id. @throws KitError EVENT_UNKNOWN if it is not in the database */
export async function requiredEvent(store: StoreReader, id: string): Promise<StoredEvent> {
  return (await store.queue.event({ id })) ?? unknownEvent(id);
}

function unknownEvent(id: string): never {
  throw new KitError('EVENT_UNKNOWN', `there is no event ${id} in this database`);
}

type Attempts = NonNullable<Awaited<ReturnType<typeof wholeEventJson>>>['history'];

function historyTable(attempts: Attempts): string {
  if (attempts.length === 0) return 'no attempts\n';
  const rows = attempts.map(({ replay, attempt, started_at, duration_ms, outcome, instance, error }) => {
    const life = replay === 0 ? 'first' : `replay ${replay}`;
    const why = beginning(headlineOf(error ?? ''), LONGEST);
    return [life, String(attempt), started_at, `${duration_ms} ms`, outcome, instance, why];
  });
  return table(['life', 'attempt', 'started', 'took', 'outcome', 'instance', 'error'], rows);
}
