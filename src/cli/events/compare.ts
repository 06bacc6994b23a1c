import { createReadStream } from 'node:fs';
import { Command } from 'commander';
import { KitError, messageOf } from '../../errors.ts';
import { numberedLines } from '../../recording/lines.ts';
import { line, say } from '../print.ts';
import { table } from '../table.ts';
import { type Outcome, parseOutcome } from './report.ts';
import { whileRead, write } from './stdout.ts';

interface Flags {
  readonly reasons?: true;
  readonly json?: true;
}

const EXAMPLES = `
Exits with 0 if every event ended alike in both, and with 1 if any did not.

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
    .option('--json', 'print a JSON object for each event that ended differently, a line each')
    .addHelpText('after', EXAMPLES)
    .action(whileRead(compare));
}

const NONE = '-';

async function compare(a: string, b: string, { reasons, json }: Flags): Promise<void> {
  const left = await readReport(a, reasons);
  const right = await readReport(b, reasons);
  const differences = [...differencesOf(left.events, right.events)];
  const same = [...right.events.keys()].filter((id) => left.events.has(id)).length;
  const rows = differences.map(({ id, kind, resource, a, b }) => [id, kind, resource, a, b].map(line));
  if (json) await write(differences.map((one) => `${JSON.stringify(one)}\n`).join(''));
  else if (rows.length > 0) await write(table(['id', 'kind', 'resource', 'A', 'B'], rows));
  const onlyA = differences.filter(({ b }) => b === NONE).length;
  const onlyB = differences.filter(({ a }) => a === NONE).length;
  const changed = differences.length - onlyA - onlyB;
  say(
    `${same - changed} events ended alike, ${changed} differently, ${onlyA} are in A only, ${onlyB} in B only`,
  );
  if (left.broken + right.broken > 0)
    throw new KitError('REPLAY_FAILED', `${left.broken + right.broken} lines could not be read`);
  if (differences.length > 0) process.exitCode = 1;
}

interface Ended {
  readonly kind: string;
  readonly resource: string;
  /** of all deliveries, where it was sent more than once */
  readonly outcome: string;
}

interface Report {
  readonly events: ReadonlyMap<string, Ended>;
  readonly broken: number;
}

async function readReport(path: string, reasons: true | undefined): Promise<Report> {
  const events = new Map<string, Ended>();
  let broken = 0;
  try {
    for await (const { number, text } of numberedLines(createReadStream(path))) {
      const read = text === undefined ? undefined : parseOutcome(text);
      if (!read) {
        broken++;
        say(`${path}, line ${number}: not a line of a report`);
        continue;
      }
      const { id, kind, resource } = read;
      const before = events.get(id);
      const outcome = reasons ? withReason(read) : read.outcome;
      events.set(id, { kind, resource, outcome: before ? `${before.outcome}, ${outcome}` : outcome });
    }
  } catch (cause) {
    throw new KitError('INPUT_INVALID', `cannot read the report ${path}: ${messageOf(cause)}`, { cause });
  }
  return { events, broken };
}

function withReason({ outcome, reason }: Outcome): string {
  return reason === undefined ? outcome : `${outcome} (${reason})`;
}

interface Difference {
  readonly id: string;
  readonly kind: string;
  readonly resource: string;
  readonly a: string;
  readonly b: string;
}

function* differencesOf(left: Report['events'], right: Report['events']): Generator<Difference> {
  for (const [id, { kind, resource, outcome: a }] of left) {
    const b = right.get(id)?.outcome ?? NONE;
    if (a !== b) yield { id, kind, resource, a, b };
  }
  for (const [id, { kind, resource, outcome: b }] of right) {
    if (!left.has(id)) yield { id, kind, resource, a: NONE, b };
  }
}
