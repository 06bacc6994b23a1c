import { readFileSync, statSync } from 'node:fs';
import { visibleLine } from './visible.ts';

/** A place in a file of code; lines and columns count from 1. */
export interface CodePlace {
  /** its path */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A stack may name any file, also one that is no code: nothing of it is shown. */
const CODE = /\.[cm]?[jt]sx?$/;
const LARGEST_FILE = 1024 * 1024;
/** Lines before and after the one that is marked. */
const AROUND = 1;
const LONGEST_LINE = 160;

/**
 * The lines around a place, the place marked:
 * ```
 *   11 |   async media_available(event) {
 * > 12 |     page.title();
 *      |          ^
 *   13 |   },
 * ```
 * @returns undefined if the file cannot be read, is no file of code, or has no such line
 */
export function codeFrame({ file, line, column }: CodePlace): string | undefined {
  const lines = linesOf(file);
  const marked = lines?.[line - 1];
  if (!lines || marked === undefined) return undefined;
  // Of a very long line, as a minifier makes them, the part around the place.
  const from = column > LONGEST_LINE ? column - LONGEST_LINE / 2 : 0;
  const shownOf = (text: string) => visibleLine(text.slice(from, from + LONGEST_LINE).replaceAll('\t', '  '));
  const first = Math.max(1, line - AROUND);
  const last = Math.min(lines.length, line + AROUND);
  const width = String(last).length;
  const mark = `  ${' '.repeat(width)} | ${' '.repeat(shownOf(marked.slice(0, column - 1)).length)}^`;
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return numbers
    .flatMap((number) => {
      const text = shownOf(lines[number - 1] ?? '');
      const row = `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text}`.trimEnd();
      return number === line ? [row, mark] : [row];
    })
    .join('\n');
}

function linesOf(file: string): string[] | undefined {
  try {
    const stat = statSync(file);
    if (!CODE.test(file) || !stat.isFile() || stat.size > LARGEST_FILE) return undefined;
    return readFileSync(file, 'utf8').split(/\r?\n/);
  } catch {
    return undefined; // it is gone, or not to be read: the error is shown without code then
  }
}
