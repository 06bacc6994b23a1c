/** A problem for the operator, and what helps. */
export interface Concern {
  /** names what is wrong, whatever the numbers of the text: a metric has it, and `of` beside it */
  readonly fault: string;
  /** the webhook, site, instance, subscriber or schedule, where each is a fault of its own */
  readonly of?: string;
  /** whether notifications do not come in, or are not handled: that pages somebody, and a command exits with 1 */
  readonly grave: boolean;
  /** since when, in ISO 8601; null where that is not known */
  readonly since: string | null;
  readonly text: string;
  /** commands stand between backticks */
  readonly advice: string;
  /** the page that shows more, from the root of the listener */
  readonly path: string;
}

/** Grave, and with the page of its subject, unless it says otherwise. */
export type Sentence = Pick<Concern, 'fault' | 'of' | 'text' | 'advice'> &
  Partial<Pick<Concern, 'grave' | 'path'>> & { readonly since?: number | undefined };
export type Found = readonly (Sentence | false)[];

/** How many of a list a sentence has. */
export const MOST_TOLD = 3;

/** The first three of a list, and how many more it has. */
export function listed(all: readonly string[]): string {
  const told = all.slice(0, MOST_TOLD);
  if (all.length > MOST_TOLD) told.push(`${all.length - MOST_TOLD} more`);
  return told.join(', ');
}

/** The milliseconds since a time; 0 without one. */
export const since = (time: number | undefined, now: number) => Math.max(0, now - (time ?? now));
