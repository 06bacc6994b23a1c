import { codeOf, importsOf, type SourceFile } from './source-files.ts';

/** An import from one file to another. */
interface Tie {
  readonly from: string;
  readonly to: string;
  /** the imported names, as they stand in the statement */
  readonly names: string;
}

/**
 * The shortest circle through each import, each circle once. Imports of types count: a reader needs both files anyway.
 * @returns one line a circle: `a.ts -> b.ts (names) -> a.ts (names)`
 */
export function circlesOf(files: readonly SourceFile[]): string[] {
  const known = new Set(files.map(({ path }) => path));
  const ties = new Map(files.map((file) => [file.path, tiesOf(file).filter(({ to }) => known.has(to))]));
  const circles = new Map<string, string>();
  for (const tie of [...ties.values()].flat()) {
    const circle = [tie, ...wayBack(tie, ties)];
    if (circle.at(-1)?.to !== tie.from) continue;
    const members = circle.map(({ from }) => from).toSorted();
    const key = members.join(' ');
    if (tie.from !== members[0]) continue; // each circle begins with its first file
    circles.set(
      key,
      circle.map(({ to, names }) => ` -> ${to} (${names})`).reduce((all, one) => all + one, tie.from),
    );
  }
  return [...circles.values()].toSorted();
}

/** The shortest way from the end of an import to its beginning; nothing if there is none. */
function wayBack({ from, to }: Tie, ties: ReadonlyMap<string, readonly Tie[]>): Tie[] {
  const reached = new Map<string, Tie | undefined>([[to, undefined]]);
  for (const here of reached.keys()) {
    if (here === from) break;
    for (const tie of ties.get(here) ?? []) if (!reached.has(tie.to)) reached.set(tie.to, tie);
  }
  const way: Tie[] = [];
  for (let tie = reached.get(from); tie !== undefined; tie = reached.get(tie.from)) way.unshift(tie);
  return way;
}

function tiesOf(file: SourceFile): Tie[] {
  return importsOf(file).flatMap(({ specifier, target }) =>
    target === undefined ? [] : [{ from: file.path, to: target, names: namesOf(file, specifier) }],
  );
}

function namesOf(file: SourceFile, specifier: string): string {
  const quoted = RegExp.escape(specifier);
  const statement = new RegExp(`^\\s*(?:import|export)\\b([^'"\`;]*?)\\bfrom\\s*['"]${quoted}['"]`, 'm');
  const [, names = ''] = statement.exec(codeOf(file)) ?? [];
  return (
    names
      .replaceAll(/[{}]|\btype\b/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
      .replace(/,$/, '') || 'loaded'
  );
}
