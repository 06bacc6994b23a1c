import type { Command } from 'commander';
import { withReader } from '../store/open.ts';
import { iso } from '../store/queue/lists/event-json.ts';
import { configOf, wholeNumber } from './options.ts';
import { printResult, say, table } from './output.ts';

type Flags = { limit: number; before?: number; json?: true };

/** The changes that commands and pages made. */
export function addAudit(program: Command): void {
  program
    .command('audit')
    .description('List the changes that commands and pages made, and who made them, the newest first.')
    .option('--limit <number>', 'list at most this many', wholeNumber(1), 50)
    .option('--before <seq>', 'list the changes before this one: the next page', wholeNumber(1))
    .action(list);
}

async function list({ limit, before, json }: Flags, command: Command): Promise<void> {
  const found = await withReader(configOf(command), ({ reports }) => reports.changes({ before, limit }));
  const changes = found.map(({ at, filters, changed = null, ...change }) => {
    return { ...change, at: iso(at), filters: JSON.parse(filters), changed };
  });
  const rows = changes.map(({ seq, at, what, filters, who, changed }) => {
    return [String(seq), at, what, who, String(changed ?? 'not ended'), JSON.stringify(filters)];
  });
  const head = ['seq', 'time', 'what', 'who', 'changed', 'filters'];
  await printResult(json, changes, rows.length > 0 ? table(head, rows) : 'no changes');
  if (rows.length === limit) say(`there may be more: --before ${changes.at(-1)?.seq}`);
}
