import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import type { Finding } from '../base/finding.ts';
import { visible, visibleLine } from '../base/text.ts';
import type { ReplayListener } from '../replay/replay-listener.ts';

/** Makes foreign text safe to print within a line. */
export { visibleLine as line } from '../base/text.ts';

/** The same, cut so that it is no longer than this when it is visible. */
export function beginning(text: string, longest: number): string {
  const shown = visibleLine(text.slice(0, longest + 1));
  return shown.length <= longest ? shown : `${shown.slice(0, longest - 4)} ...`;
}

/** Thrown where nobody reads a stream of data any more, as after `| head`: there is nothing left to do, and nothing is wrong. */
export class NobodyReads extends Error {}

/** Ignores errors of stdout and stderr, so that a closed log never ends a command. A write of data throws its own errors. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
}

/**
 * Writes data to stdout that goes on for long. Resolves once there is room for more. Control characters are made visible, so that no data
 * controls a terminal.
 * @throws NobodyReads if stdout is closed; main.ts then ends the command with 0
 */
export function writeOn(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(visible(text), (error) => {
      if (!error) resolve();
      else if ('code' in error && error.code === 'EPIPE') reject(new NobodyReads());
      else
        reject(new KitError('OUTPUT_FAILED', `cannot write to stdout: ${error.message}`, { cause: error }));
    });
  });
}

/** Writes lines that a command says in the end: it does its work and fails as ever, whether anybody reads them or not. */
export async function print(text: string): Promise<void> {
  await writeOn(text.replace(/\n?$/, '\n')).catch((error) => {
    if (!(error instanceof NobodyReads)) throw error;
  });
}

/** Writes the result of a command: with --json as one JSON value, for another program, else as text. */
export function printResult(json: true | undefined, value: unknown, text: string): Promise<void> {
  return print(json ? JSON.stringify(value, null, 2) : text);
}

/** Writes a line to stdout without waiting, for output that goes on while a server runs. */
export function report(text: string): void {
  process.stdout.write(visible(`${text}\n`));
}

/** Writes a message to stderr. */
export function say(text: string): void {
  process.stderr.write(visible(`${text}\n`));
}

/**
 * Prints findings as they come, a line each, or all as JSON at the end.
 * @throws KitError CHECK_FAILED if a check failed
 */
export async function printFindings(found: AsyncIterable<Finding>, { json }: { json?: true }): Promise<void> {
  const findings: Finding[] = [];
  for await (const finding of found) {
    findings.push(finding);
    const { result, check, detail } = finding;
    const text = `${result.padEnd(7)}  ${check.padEnd(13)}  ${detail.replace(/:\n\s*/g, ': ').replace(/\n\s*/g, '; ')}`;
    if (!json) await print(visibleLine(text));
  }
  const failed = findings.filter(({ result }) => result === 'FAIL').length;
  if (json) await printResult(json, { ok: failed === 0, findings }, '');
  if (failed > 0) throw new KitError('CHECK_FAILED', `${failed} of ${findings.length} checks failed`);
}

/** In characters: one long cell widens the lines of all rows, unless it is the last of its own. */
const LONGEST_CELL = 100;

/** Lays rows out in columns. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) =>
    row.map((text, column) => (column < row.length - 1 ? beginning(text, LONGEST_CELL) : visibleLine(text))),
  );
  const widths = head.map((title, column) => {
    const widest = shown.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), title.length);
    return Math.min(widest, LONGEST_CELL);
  });
  const lines = [head, widths.map((width) => '-'.repeat(width)), ...shown].map((cells) => {
    const padded = widths.map((width, column) => (cells[column] ?? '').padEnd(width));
    return `${padded.join('  ').trimEnd()}\n`;
  });
  return lines.join('');
}

/** Lays an object out: a line a member, or the lines of a longer text below its name. Members that are null are left out. */
export function members(object: object): string {
  const given = Object.entries(object).filter(([, value]) => value !== null && value !== undefined);
  const width = given.reduce((most, [name]) => Math.max(most, name.length), 0);
  const laidOut = given.map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (!text.includes('\n')) return `${name.padEnd(width)}  ${visibleLine(text)}`.trimEnd();
    return [name, ...text.split('\n').map(visibleLine)].join('\n  ');
  });
  return `${laidOut.join('\n')}\n`;
}

const REFRESH_MS = 100;
const BAR = 24;
const CLEAR_LINE = '\r\x1b[2K';

/**
 * A line at the bottom of a terminal: how far long work is, and how fast it goes.
 * @param verb what happens to each event, such as "exported"
 */
export function progress(verb: string) {
  const began = systemClock.now();
  let shownAt = 0;
  let counted = 0;
  return {
    /** Shows that a step has done so many more. */
    step(ids: readonly string[]): void {
      counted += ids.length;
      this.show(counted, undefined);
    },
    show(done: number, share: number | undefined): void {
      const now = systemClock.now();
      if (!process.stderr.isTTY || now - shownAt < REFRESH_MS) return;
      shownAt = now;
      const full = '#'.repeat(Math.min(1, share ?? 0) * BAR);
      const bar = share === undefined ? '' : `[${full.padEnd(BAR, '.')}] `;
      const rate = Math.round((done * 1000) / Math.max(1, now - began));
      process.stderr.write(`${CLEAR_LINE}${bar}${done} ${verb} ${rate}/s`);
    },
    [Symbol.dispose]() {
      if (shownAt > 0) process.stderr.write(CLEAR_LINE);
    },
  };
}

/** Shows on stderr how far long work is, if stderr is a terminal, and what the work has to say. */
export const onStderr: ReplayListener = { begin: progress, say };
