import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { loadDefinition } from '../../dispatch/load-handlers.ts';
import { KINDS, kindNames } from '../../notification/kinds.ts';
import { printJson, write } from '../print.ts';
import { table } from '../table.ts';
import { endProcess } from '../terminal.ts';

const EXAMPLES = `
Examples:
  npx hookkit handlers list
  npx hookkit handlers --json`;

export function listCommand(): Command {
  return new Command('list')
    .description('List each kind with the ids in it, and whether it has a handler (the default).')
    .option('--json', 'print a JSON array')
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list({ json }: { json?: true }): Promise<void> {
  endProcess(); // whatever the handlers' files set off while they load
  const { handlers } = await loadDefinition(loadConfig());
  const known = kindNames.map((kind) => ({
    kind,
    ids: KINDS[kind].ids as readonly string[],
    handler: handlers[kind] !== undefined,
  }));
  const all = [...known, { kind: 'unknown', ids: [], handler: handlers.unknown !== undefined }];
  if (json) return printJson(all);
  const rows = all.map(({ kind, ids, handler }) => [
    kind,
    kind === 'unknown' ? 'any other kind' : ids.join(', '),
    handler ? 'yes' : 'none: ends as skipped',
  ]);
  await write(table(['kind', 'names', 'handler'], rows));
}
