/** A problem for the operator, and what helps. */
export interface Concern {
  /** names what is wrong, whatever the numbers of the text: a metric has it, and `of` beside it */
  readonly fault: string;
  /** the webhook, site or instance, where each is a fault of its own */
  readonly of?: string;
  /** whether notifications do not come in, or are not handled: that pages somebody, and a command exits with 1 */
  readonly grave: boolean;
  /** since when, where that is known, in ISO 8601 */
  readonly since?: string | null;
  readonly text: string;
  /** commands stand between backticks */
  readonly advice: string;
  /** the page that shows more, from the root of the listener */
  readonly path: string;
  /** what a button offers, and the page that does it */
  readonly action?: { readonly label: string; readonly path: string };
}

export type Found = readonly (Concern | false)[];

/** The milliseconds since a time in ISO 8601; 0 without one. */
export const since = (time: string | null, now: number) =>
  time === null ? 0 : Math.max(0, now - Date.parse(time));
