import type { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { firstLines } from '../../replay/replay-listener.ts';
import { print, say, table, write } from '../output.ts';

interface Flags {
  readonly reasons?: true;
  readonly allowEmpty?: true;
  readonly json?: true;
}

const HELP = `
Exits with 0 if every event ended alike in both reports, and with 1 if an event did not, or both reports are empty.`;

export function addCompare(events: Command): void {
  events
    .command('compare')
    .description('Compare two reports of `hookkit events replay`: show the events that ended differently.')
    .argument('<A>', 'a report')
    .argument('<B>', 'the report to compare it with')
    .option('--reasons', 'count another first line of the reason as different too')
    .option('--allow-empty', 'exit with 0 if both reports are empty; without it that is an error')
    .option('--json', 'print a JSON object a line for each event that ended differently')
    .addHelpText('after', HELP)
    .action(compare);
}

const NONE = '-';

async function compare(a: string, b: string, { reasons, allowEmpty, json }: Flags): Promise<void> {
  const { compareReports } = await import('../../replay/compare-reports.ts');
  const sayBroken = firstLines(say);
  const comparing = {
    reasons,
    onBroken: (report: string, number: number) =>
      sayBroken(`${report}, line ${number}: not a line of a report`),
  };
  const files = { a: { path: a, name: a }, b: { path: b, name: b } };
  await compareReports(files, comparing, async (comparison) => {
    const { alike, changed, onlyA, onlyB, broken } = comparison;
    const differ = changed + onlyA + onlyB;
    const rows: string[][] = [];
    for (const { id, kind, resource, a, b } of comparison.differences()) {
      if (json) await print(JSON.stringify({ id, kind, resource, a: a ?? NONE, b: b ?? NONE }));
      else rows.push([id, kind, resource, a ?? NONE, b ?? NONE]);
    }
    if (rows.length > 0) await write(table(['id', 'kind', 'resource', 'A', 'B'], rows));
    const summary = `${alike} events ended alike, ${changed} differently, ${onlyA} are in A only, ${onlyB} in B only`;
    if (broken > 0) throw new KitError('REPLAY_FAILED', `${broken} lines could not be read`);
    if (differ > 0) throw new KitError('REPLAY_FAILED', summary);
    say(summary);
    if (alike + differ === 0 && !allowEmpty)
      throw new KitError('REPLAY_FAILED', 'both reports are empty (--allow-empty makes that a success)');
  });
}
