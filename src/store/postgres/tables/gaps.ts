/** Numbers of the ledger, from `event` to `last`. */
export interface Range {
  readonly event: number;
  readonly last: number;
}

/** The numbers that are missing after one among others, which are in their order. */
export function gapsBetween(after: number, events: readonly number[]): Range[] {
  return events.flatMap((event, index) => {
    const before = events[index - 1] ?? after;
    return event > before + 1 ? [{ event: before + 1, last: event - 1 }] : [];
  });
}

/** What is left of a range without some of its numbers. */
export function without({ event, last }: Range, found: readonly number[]): Range[] {
  const inside = found.filter((one) => one >= event && one <= last).sort((one, other) => one - other);
  return gapsBetween(event - 1, [...inside, last + 1]);
}
