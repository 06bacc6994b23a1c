/** Lays rows out in columns as wide as they need; numbers (and dashes in their place) stand to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => cell(row, column).length)),
  );
  const right = head.map((_, column) => rows.every((row) => /^([\d.]+( ms)?|-)$/.test(cell(row, column))));
  const line = (row: readonly string[]) =>
    widths
      .map((width, column) =>
        right[column] ? cell(row, column).padStart(width) : cell(row, column).padEnd(width),
      )
      .join('  ')
      .trimEnd();
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line), ''].join('\n');
}

function cell(row: readonly string[], column: number): string {
  return row[column] ?? '';
}
