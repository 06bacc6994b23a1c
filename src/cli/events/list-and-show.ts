import type { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { headlineOf } from '../../base/thrown.ts';
import { loadConfig } from '../../config.ts';
import type { Attempt, EventStore, RunningStart, StateValue, StoredEvent } from '../../store/event-store.ts';
import { attemptJson, eventJson, iso, runningJson, stateJson } from '../../store/lists/event-json.ts';
import { withDatabase } from '../../store/open.ts';
import { eventId, type FilterFlags, filterOf, wholeNumber, withFilter } from '../options.ts';
import { beginning, line, printJson, say, table, write } from '../output.ts';

interface Flags extends FilterFlags {
  readonly limit: number;
  readonly before?: string;
  readonly json?: true;
}

export function addListAndShow(events: Command): void {
  withFilter(events.command('list'))
    .description('List events, the newest received first; of one media or channel, the newest that happened.')
    .option('--limit <number>', 'list at most so many', wholeNumber(1), 50)
    .option('--before <event>', 'list the events behind this one in the list: the next page', eventId)
    .option('--json', 'print a JSON object a line')
    .addHelpText('after', '\nExample:\n  npx hookkit events list --kind channels --since 2h --status dead')
    .action(list);
  events
    .command('show')
    .description('Show one event with its payload, the state of its media or channel, and all its attempts.')
    .argument('<id>', 'the id of the event, as `hookkit events list` shows it', eventId)
    .option('--json', 'print a JSON object; its `history` has the attempts')
    .action(show);
}

async function list({ limit, before, json, ...flags }: Flags): Promise<void> {
  const filter = filterOf(flags);
  await withDatabase(loadConfig(), async (store) => {
    if (before !== undefined && !(await store.event(before)))
      throw new KitError('EVENT_UNKNOWN', `there is no event ${before}, so nothing is before it`);
    const found: StoredEvent[] = [];
    let after = before;
    // One stretch of a search may find few: it looks at some thousand events.
    do {
      const page = await store.search(filter, { after, limit: limit + 1 - found.length });
      found.push(...page.events);
      after = page.next;
    } while (after !== undefined && found.length <= limit);
    const events = found.slice(0, limit);
    if (json) await write(events.map((event) => `${JSON.stringify(eventJson(event))}\n`).join(''));
    else if (events.length > 0) await write(eventTable(events));
    else say('no events');
    if (found.length > limit) say(`there are more: --before ${events.at(-1)?.id}`);
  });
}

const HEAD = ['id', 'event time', 'received', 'kind', 'resource', 'status', 'attempts', 'last error'];
const LONGEST_ERROR = 60;

/** Events as a table, a line an event. */
export function eventTable(events: readonly StoredEvent[]): string {
  return table(HEAD, events.map(rowOf));
}

function rowOf(event: StoredEvent): string[] {
  const { id, eventTime, receivedAt, kind, resource, status, attempts, lastError, body } = event;
  const time = eventTime === 0 ? '-' : second(eventTime);
  const note = body === undefined ? '(pruned)' : beginning(headlineOf(lastError ?? ''), LONGEST_ERROR);
  return [id, time, second(receivedAt), kind, resource, status, String(attempts), note];
}

function second(time: number): string {
  return `${iso(time).slice(0, 19)}Z`;
}

/** In characters, of an attempt's error, and of a value of the state, which `hookkit state show` shows as a whole. */
const LONGEST = 160;

async function show(id: string, { json }: { json?: true }): Promise<void> {
  await withDatabase(loadConfig(), async (store) => {
    const event = await eventOf(store, id);
    const attempts = await store.attempts(id);
    const running = await store.running(id);
    const state = await store.state(event.resource);
    if (json)
      return printJson({
        ...eventJson(event),
        history: attempts.map(attemptJson),
        running: running ? runningJson(running) : null,
        state: stateJson(state),
      });
    await write(`${describe(event, attempts, state)}${running ? runningLine(running) : ''}`);
  });
}

/** The event of an id. @throws KitError EVENT_UNKNOWN if it is not in the database */
export async function eventOf(store: Pick<EventStore, 'event'>, id: string): Promise<StoredEvent> {
  const event = await store.event(id);
  if (!event) throw new KitError('EVENT_UNKNOWN', `there is no event ${id} in this database`);
  return event;
}

function describe(event: StoredEvent, attempts: readonly Attempt[], state: readonly StateValue[]): string {
  const { body, last_error, ...members } = eventJson(event);
  const lines = Object.entries(members)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(17)} ${line(String(value))}`);
  const error = last_error === null ? [] : ['', 'last error', ...indented(last_error)];
  const pretty = body === null ? '(pruned)' : JSON.stringify(JSON.parse(body), null, 2);
  const left = state.map(({ name, value }) => `  ${line(name)}: ${beginning(value, LONGEST)}`);
  if (left.length > 0) left.unshift('', `state of ${line(event.resource)}`);
  return [...lines, ...error, '', 'payload', ...indented(pretty), ...left, '', history(attempts)].join('\n');
}

function history(attempts: readonly Attempt[]): string {
  if (attempts.length === 0) return 'no attempts\n';
  const head = ['life', 'attempt', 'started', 'took', 'outcome', 'instance', 'error'];
  const rows = attempts.map(({ replay, attempt, startedAt, durationMs, outcome, instance, error }) => [
    replay === 0 ? 'first' : `replay ${replay}`,
    String(attempt),
    iso(startedAt),
    `${durationMs} ms`,
    outcome,
    line(instance),
    beginning(headlineOf(error ?? ''), LONGEST),
  ]);
  return table(head, rows);
}

function runningLine({ instance, startedAt, leaseUntil }: RunningStart): string {
  return `running since ${iso(startedAt)} on ${line(instance)}; its lease lasts until ${iso(leaseUntil)}\n`;
}

function indented(text: string): string[] {
  return text.split('\n').map((one) => `  ${line(one)}`);
}
