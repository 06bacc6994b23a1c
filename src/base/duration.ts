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
const LONGEST_MS = 100 * 365 * 86_400_000;

/** A length of time as people write it, `6m`, `1.5h` or `250ms`, in milliseconds; undefined if it is none. */
export function durationOf(text: string): number | undefined {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/.exec(text) ?? [];
  const ms = Math.round(Number(number) * (UNIT_MS[unit] ?? Number.NaN));
  return ms <= LONGEST_MS ? ms : undefined;
}

/** A length of time in the largest unit of which it is a multiple, as `durationOf` reads it. */
export function durationText(ms: number): string {
  const [unit, each] = Object.entries(UNIT_MS).findLast(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / each}${unit}`;
}

/** The forms of a moment that `momentOf` reads, for people. */
export const MOMENTS = 'a time: 2026-11-19, 2026-11-19T14:00 (in UTC), 2026-11-19T14:00:00+01:00 or 2h ago';

const DATE_TIME = /^(\d{4}-\d\d-\d\d)(T[\d:.]+)?(Z|[+-]\d\d:\d\d)?$/;

/** A moment as people write it, in milliseconds since the epoch; undefined if it is none. */
export function momentOf(text: string, now: number): number | undefined {
  const ago = durationOf(text.replace(/ ago$/, ''));
  if (ago !== undefined) return now - ago;
  const [, day = '', clock = 'T00:00', offset = 'Z'] = DATE_TIME.exec(text) ?? [];
  const time = Date.parse(`${day}${clock}${offset}`);
  // Date.parse alone reads 30 February as 2 March.
  return new Date(`${day}T00:00Z`).toJSON()?.startsWith(day) && !Number.isNaN(time) ? time : undefined;
}

/** `2024-08-27T00:20:57+00:00`: whole seconds, as in a notification's `event_time`. */
export function wholeSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
}
