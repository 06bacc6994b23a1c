import { beginning, line } from './print.ts';

/** In characters: one long cell widens the lines of all rows, unless it is the last of its own. */
const LONGEST = 100;

/** Lays rows out in columns. Columns of numbers (or of dashes where a number is missing) are right-aligned. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [...tableLines(head, () => rows)].join('');
}

/** The same, a line at a time, for any number of rows. `rows` is called twice. */
export function* tableLines(
  head: readonly string[],
  rows: () => Iterable<readonly string[]>,
): Generator<string> {
  const widths = head.map((title) => title.length);
  const right = head.map(() => true);
  for (const row of rows()) {
    for (const column of head.keys()) {
      const text = cell(row, column);
      widths[column] = Math.min(Math.max(widths[column] ?? 0, text.length), LONGEST);
      right[column] &&= /^([\d.]+( ms)?|-)$/.test(text);
    }
  }
  const lineOf = (row: readonly string[]) => {
    const cells = widths.map((width, column) =>
      right[column] ? cell(row, column).padStart(width) : cell(row, column).padEnd(width),
    );
    return `${cells.join('  ').trimEnd()}\n`;
  };
  yield lineOf(head);
  yield `${widths.map((width) => '-'.repeat(width)).join('  ')}\n`;
  for (const row of rows()) yield lineOf(row);
}

function cell(row: readonly string[], column: number): string {
  const text = row[column] ?? '';
  return column < row.length - 1 ? beginning(text, LONGEST) : line(text);
}
