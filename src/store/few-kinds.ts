import type { Tally } from './event-search.ts';

/** In place of the kinds that are too many to be told apart. */
export const OTHER_KINDS = '(other kinds)';
/** The provider has 13. Whoever can sign may send any number of others, and pages are not to grow with them. */
export const MOST_KINDS = 100;

/** The tallies of the kinds with most events, in the order of their names, and behind them those of all others together. */
export function fewKinds(tallies: readonly Tally[]): readonly Tally[] {
  const sums = new Map<string, number>();
  for (const { kind, events } of tallies) sums.set(kind, (sums.get(kind) ?? 0) + events);
  const isSummed = sums.delete(OTHER_KINDS); // by a driver
  if (sums.size <= MOST_KINDS && !isSummed) return tallies;
  const byEvents = [...sums].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
  const kept = new Set(byEvents.slice(0, MOST_KINDS).map(([kind]) => kind));
  const others = new Map<Tally['status'], number>();
  for (const { kind, status, events } of tallies)
    if (!kept.has(kind)) others.set(status, (others.get(status) ?? 0) + events);
  return [
    ...tallies.filter(({ kind }) => kept.has(kind)),
    ...[...others].map(([status, events]) => ({ kind: OTHER_KINDS, status, events })),
  ];
}
