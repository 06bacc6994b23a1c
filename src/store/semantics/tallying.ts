import type { TallyChange } from '../driver.ts';

/** The changes summed up, one for each kind and status. */
export function tally(changes: readonly TallyChange[]): TallyChange[] {
  const sums = new Map<string, TallyChange>();
  for (const change of changes) {
    const key = `${change.status} ${change.kind}`;
    sums.set(key, { ...change, by: change.by + (sums.get(key)?.by ?? 0) });
  }
  return [...sums.values()].filter(({ by }) => by !== 0);
}
