import { Command } from 'commander';
import { headlineOf } from '../../base/thrown.ts';
import { loadConfig } from '../../config.ts';
import type { Attempt, RunningStart, StateValue, StoredEvent } from '../../store/event-store.ts';
import { attemptJson, eventJson, iso, runningJson, stateJson } from '../../store/lists/event-json.ts';
import { withDatabase } from '../../store/with-store.ts';
import { beginning, line, write } from '../print.ts';
import { table } from '../table.ts';
import { checkEventId, eventOf } from './open-database.ts';

/** In characters, of an attempt's error, and of a value of the state, which `hookkit state show` shows as a whole. */
const LONGEST = 160;

const EXAMPLES = `
Examples:
  npx hookkit events show loyw3uqg-0123456789abcdef0123
  npx hookkit events show loyw3uqg-0123456789abcdef0123 --json`;

export function showCommand(): Command {
  return new Command('show')
    .description('Show one event with its payload, the state of its media or channel, and all its attempts.')
    .argument('<id>', 'the id of the event, as `hookkit events list` shows it')
    .option(
      '--json',
      'print a JSON object; its `history` has the attempts, its `running` the start that has not ended, its `state` the values of ctx.state by name',
    )
    .addHelpText('after', EXAMPLES)
    .action(show);
}

async function show(id: string, { json }: { json?: true }): Promise<void> {
  checkEventId(id);
  await withDatabase(loadConfig(), async (store) => {
    const event = await eventOf(store, id);
    const attempts = await store.attempts(id);
    const running = await store.running(id);
    const state = await store.state(event.resource);
    if (json) {
      const shown = {
        ...eventJson(event),
        history: attempts.map(attemptJson),
        running: running ? runningJson(running) : null,
        state: stateJson(state),
      };
      return write(`${JSON.stringify(shown, null, 2)}\n`);
    }
    return write(`${describe(event, attempts, state)}${running ? runningLine(running) : ''}`);
  });
}

function describe(event: StoredEvent, attempts: readonly Attempt[], state: readonly StateValue[]): string {
  const { body, last_error, ...members } = eventJson(event);
  const lines = Object.entries(members)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(17)} ${line(String(value))}`);
  const error = last_error === null ? [] : ['', 'last error', ...indented(last_error)];
  const payload = body === null ? ['  (removed by retention or `hookkit events prune`)'] : pretty(body);
  return [
    ...lines,
    ...error,
    '',
    'payload',
    ...payload,
    ...stateLines(event.resource, state),
    '',
    history(attempts),
  ].join('\n');
}

/** Nothing where there is no state, as for most events. */
function stateLines(resource: string, state: readonly StateValue[]): string[] {
  if (state.length === 0) return [];
  const lines = state.map(({ name, value }) => `  ${line(name)}: ${beginning(value, LONGEST)}`);
  return ['', `state of ${line(resource)}`, ...lines];
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

function pretty(body: string): string[] {
  return indented(JSON.stringify(JSON.parse(body), null, 2));
}

function indented(text: string): string[] {
  return text.split('\n').map((one) => `  ${line(one)}`);
}
