import { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { type Comparison, compareReports } from '../../replay/compare-reports.ts';
import { firstLines } from '../../replay/replay-listener.ts';
import { line, say, write } from '../print.ts';
import { tableLines } from '../table.ts';
import { pathOf, setExitCode } from '../terminal.ts';

interface Flags {
  readonly reasons?: true;
  readonly allowEmpty?: true;
  readonly json?: true;
}

const EXAMPLES = `
Exits with 0 if every event ended alike in both reports, and with 1 if an event did not, or both reports are empty.

Examples:
  npx hookkit events replay --all --run --report before.ndjson
  npx hookkit events replay --all --run --report after.ndjson
  npx hookkit events compare before.ndjson after.ndjson`;

export function compareCommand(): Command {
  return new Command('compare')
    .description(
      'Compare two reports of `hookkit events replay --report`: show the events that ended differently.',
    )
    .argument('<A>', 'a report')
    .argument('<B>', 'the report to compare it with')
    .option('--reasons', 'count the same outcome with another first line of its reason as different too')
    .option('--allow-empty', 'exit with 0 if both reports are empty; without it that is an error')
    .option('--json', 'print a JSON object a line for each event that ended differently')
    .addHelpText('after', EXAMPLES)
    .action(compare);
}

const NONE = '-';
/** How much is written at a time, in characters. */
const CHUNK = 65_536;

async function compare(a: string, b: string, { reasons, allowEmpty, json }: Flags): Promise<void> {
  const sayBroken = firstLines(say);
  const comparing = {
    reasons,
    onBroken: (report: string, number: number) =>
      sayBroken(`${report}, line ${number}: not a line of a report`),
  };
  await compareReports({ a: fileOf(a), b: fileOf(b) }, comparing, async (comparison) => {
    const { alike, changed, onlyA, onlyB, broken } = comparison;
    const differ = changed + onlyA + onlyB;
    if (json) await writeAll(asJson(comparison));
    else if (differ > 0)
      await writeAll(tableLines(['id', 'kind', 'resource', 'A', 'B'], () => asRows(comparison)));
    say(`${alike} events ended alike, ${changed} differently, ${onlyA} are in A only, ${onlyB} in B only`);
    if (broken > 0)
      throw new KitError('REPLAY_FAILED', `${broken} ${broken === 1 ? 'line' : 'lines'} could not be read`);
    if (alike + differ === 0 && !allowEmpty)
      throw new KitError('REPLAY_FAILED', 'both reports are empty (--allow-empty makes that a success)');
    if (differ > 0) setExitCode(1);
  });
}

const fileOf = (name: string) => ({ path: pathOf(name), name });

function* asRows(comparison: Comparison): Generator<string[]> {
  for (const { id, kind, resource, a, b } of comparison.differences()) {
    yield [id, kind, resource, a ?? NONE, b ?? NONE].map(line);
  }
}

function* asJson(comparison: Comparison): Generator<string> {
  for (const { id, kind, resource, a, b } of comparison.differences()) {
    yield `${JSON.stringify({ id, kind, resource, a: a ?? NONE, b: b ?? NONE })}\n`;
  }
}

async function writeAll(lines: Iterable<string>): Promise<void> {
  let text = '';
  for (const one of lines) {
    text += one;
    if (text.length < CHUNK) continue;
    await write(text);
    text = '';
  }
  await write(text);
}
