import { Command } from 'commander';
import { headlineOf } from '../../base/thrown.ts';
import { loadConfig } from '../../config.ts';
import { attemptJson, eventJson, iso } from '../../store/event-json.ts';
import type { Attempt, StoredEvent } from '../../store/event-store.ts';
import { line, write } from '../print.ts';
import { table } from '../table.ts';
import { checkEventId, eventOf, withDatabase } from './open-database.ts';

/** In characters, of an attempt's error in the table; the last error is also shown as a whole. */
const LONGEST_ERROR = 160;

const EXAMPLES = `
Examples:
  npx hookkit events show loyw3uqg-0123456789abcdef0123
  npx hookkit events show loyw3uqg-0123456789abcdef0123 --json`;

export function showCommand(): Command {
  return new Command('show')
    .description('Show one event with all its attempts and its payload.')
    .argument('<id>', 'the id of the event, as `hookkit events list` shows it')
    .option('--json', 'print a JSON object; its `history` has the attempts')
    .addHelpText('after', EXAMPLES)
    .action(show);
}

async function show(id: string, { json }: { json?: true }): Promise<void> {
  checkEventId(id);
  await withDatabase(loadConfig(), async (store) => {
    const event = await eventOf(store, id);
    const attempts = await store.attempts(id);
    if (json) {
      const text = JSON.stringify({ ...eventJson(event), history: attempts.map(attemptJson) }, null, 2);
      return write(`${text}\n`);
    }
    return write(describe(event, attempts));
  });
}

function describe(event: StoredEvent, attempts: readonly Attempt[]): string {
  const { body, last_error, ...members } = eventJson(event);
  const lines = Object.entries(members)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(17)} ${line(String(value))}`);
  const error = last_error === null ? [] : ['', 'last error', ...indented(last_error)];
  const payload = body === null ? ['  (removed by retention or `hookkit events prune`)'] : pretty(body);
  return [...lines, ...error, '', 'payload', ...payload, '', history(attempts)].join('\n');
}

function history(attempts: readonly Attempt[]): string {
  if (attempts.length === 0) return 'no attempts\n';
  const head = ['life', 'attempt', 'started', 'took', 'outcome', 'error'];
  const rows = attempts.map(({ replay, attempt, startedAt, durationMs, outcome, error }) => [
    replay === 0 ? 'first' : `replay ${replay}`,
    String(attempt),
    iso(startedAt),
    `${durationMs} ms`,
    outcome,
    line(headlineOf(error ?? '').slice(0, LONGEST_ERROR)),
  ]);
  return table(head, rows);
}

function pretty(body: string): string[] {
  return indented(JSON.stringify(JSON.parse(body), null, 2));
}

function indented(text: string): string[] {
  return text.split('\n').map((one) => `  ${line(one)}`);
}
