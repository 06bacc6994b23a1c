/** The beginning of a sentence about so many events. */
export function eventsWere(count: number): string {
  return count === 1 ? '1 event was' : `${count} events were`;
}
