import { createReadStream } from 'node:fs';
import { Command } from 'commander';
import { KitError, messageOf } from '../../base/errors.ts';
import { numberedLines } from '../../recording/lines.ts';
import { line, say, write } from '../print.ts';
import { tableLines } from '../table.ts';
import { pathOf, setExitCode } from '../terminal.ts';
import { ReportPair } from './comparing/report-pair.ts';
import { portable } from './portable-reason.ts';
import { type Outcome, parseOutcome } from './report.ts';

interface Flags {
  readonly reasons?: true;
  readonly exact?: true;
  readonly allowEmpty?: true;
  readonly json?: true;
}

const EXAMPLES = `
Exits with 0 if every event ended alike in both, and with 1 if any did not, or there is none.

Examples:
  npx hookkit events replay --all --run --report before.ndjson
  npx hookkit events replay --all --run --report after.ndjson
  npx hookkit events compare before.ndjson after.ndjson`;

export function compareCommand(): Command {
  return new Command('compare')
    .description('Tell which events ended differently in two reports of `hookkit events replay --report`.')
    .argument('<A>', 'a report')
    .argument('<B>', 'the report to compare it with')
    .option('--reasons', 'take the same outcome for another reason as different too')
    .option(
      '--exact',
      'with --reasons: compare them as they are written, not without paths, addresses, times and ids',
    )
    .option('--allow-empty', 'exit with 0 where both reports are empty; without it that is an error')
    .option('--json', 'print a JSON object for each event that ended differently, a line each')
    .addHelpText('after', EXAMPLES)
    .action(compare);
}

const NONE = '-';
/** How much is written at a time, in characters. */
const CHUNK = 65_536;

async function compare(a: string, b: string, { reasons, exact, allowEmpty, json }: Flags): Promise<void> {
  if (exact && !reasons) throw new KitError('INPUT_INVALID', '--exact is for --reasons: give both');
  const pair = new ReportPair();
  try {
    // A report that was written with --exact, or by an earlier version, compares with any other.
    const reasonOf = exact ? (reason: string) => reason : portable;
    const outcomeOf = reasons
      ? ({ outcome, reason }: Outcome) =>
          reason === undefined ? outcome : `${outcome} (${reasonOf(reason)})`
      : ({ outcome }: Outcome) => outcome;
    const broken =
      (await readReport(a, (read) => pair.add('a', read, outcomeOf(read)))) +
      (await readReport(b, (read) => pair.add('b', read, outcomeOf(read))));
    const { alike, changed, onlyA, onlyB } = pair.compare();
    const differ = changed + onlyA + onlyB;
    if (json) await writeAll(asJson(pair));
    else if (differ > 0) await writeAll(tableLines(['id', 'kind', 'resource', 'A', 'B'], () => asRows(pair)));
    say(`${alike} events ended alike, ${changed} differently, ${onlyA} are in A only, ${onlyB} in B only`);
    if (broken > 0) throw new KitError('REPLAY_FAILED', `${broken} lines could not be read`);
    if (alike + differ === 0 && !allowEmpty)
      throw new KitError('REPLAY_FAILED', 'both reports are empty (--allow-empty makes that a success)');
    if (differ > 0) setExitCode(1);
  } finally {
    pair.close();
  }
}

/** Tells how many lines are broken. */
async function readReport(path: string, add: (outcome: Outcome) => void): Promise<number> {
  let broken = 0;
  try {
    for await (const { number, text } of numberedLines(createReadStream(pathOf(path)))) {
      const read = text === undefined ? undefined : parseOutcome(text);
      if (read) {
        add(read);
        continue;
      }
      broken++;
      say(`${path}, line ${number}: not a line of a report`);
    }
  } catch (cause) {
    if (cause instanceof KitError) throw cause;
    throw new KitError('INPUT_INVALID', `cannot read the report ${path}: ${messageOf(cause)}`, { cause });
  }
  return broken;
}

function* asRows(pair: ReportPair): Generator<string[]> {
  for (const { id, kind, resource, a, b } of pair.differences()) {
    yield [id, kind, resource, a ?? NONE, b ?? NONE].map(line);
  }
}

function* asJson(pair: ReportPair): Generator<string> {
  for (const { id, kind, resource, a, b } of pair.differences()) {
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
