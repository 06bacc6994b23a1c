import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { loadDefinition } from '../../dispatch/load-handlers.ts';
import { KINDS, kindNames } from '../../notification/kinds.ts';
import { printJson, write } from '../print.ts';
import { table } from '../table.ts';
import { endProcess } from '../terminal.ts';

const EXAMPLES = `
"unknown" is every other kind.

Examples:
  npx hookkit handlers list
  npx hookkit handlers --json`;

export function listCommand(): Command {
  return new Command('list')
    .description('List each kind, and whether it has a handler (the default).')
    .option('--json', 'print a JSON array, which also has the ids in each kind')
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list({ json }: { json?: true }): Promise<void> {
  const config = loadConfig();
  endProcess(); // whatever the handlers' files set off while they load
  const { handlers } = await loadDefinition(config);
  const all = [...kindNames, 'unknown' as const].map((kind) => ({
    kind,
    ids: kind === 'unknown' ? [] : (KINDS[kind].ids as readonly string[]),
    handler: handlers[kind] !== undefined,
  }));
  if (json) return printJson(all);
  const rows = all.map(({ kind, handler }) => [kind, handler ? 'yes' : 'none: ends as skipped']);
  await write(table(['kind', 'handler'], rows));
}
