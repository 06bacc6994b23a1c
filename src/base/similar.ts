/** As many letters may differ in a name that somebody misspelt. */
const MOST_EDITS = 2;
/** In a short name that would be half of it. */
const SHORTEST = 5;

/** The name that somebody may have meant, who wrote another one; undefined if none is much like it. */
export function similarTo(written: string, names: readonly string[]): string | undefined {
  if (written.length < SHORTEST) return undefined;
  const [nearest] = names
    .map((name) => ({ name, edits: editsBetween(written, name) }))
    .filter(({ name, edits }) => edits > 0 && edits <= MOST_EDITS && name.length >= SHORTEST)
    .toSorted((one, other) => one.edits - other.edits);
  return nearest?.name;
}

/** How many letters must be put in, taken out or exchanged (Levenshtein). */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (const [place, wanted] of [...other].entries()) {
      const changed = (row[place] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(changed, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
