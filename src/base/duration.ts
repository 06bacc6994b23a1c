/** The units in which people write lengths of time, in milliseconds. */
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** A Date cannot be much further away than this. */
export const LONGEST_MS = 100 * 365 * 86_400_000;

/** A length of time as people write it, `6m`, `1.5h` or `250ms`, in milliseconds; undefined if it is none. */
export function durationOf(text: string): number | undefined {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text) ?? [];
  const ms = Math.round(Number(number) * (UNIT_MS[unit] ?? Number.NaN));
  return ms <= LONGEST_MS ? ms : undefined;
}

/** `2024-08-27T00:20:57+00:00`: whole seconds, as in a notification's `event_time`. */
export function wholeSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
}
