const ISO_8601 =
  /^\+?(\d{4}(?:\d{1,2}(?=-))?)-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?\s*(Z|UTC|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i;

/** The end of the calendar of JavaScript, in the year 275760. */
const LAST_MOMENT = 8.64e15;

/**
 * Reads an ISO 8601 date, or date and time. A date alone is midnight; without a zone it is UTC.
 * @returns milliseconds since the epoch; undefined if it is not such a date, or not a day of the calendar
 */
export function parseMoment(value: unknown): number | undefined {
  const match = typeof value === 'string' ? ISO_8601.exec(value.trim()) : null;
  if (match === null) return undefined;
  const [, years, months, days, hours = '0', minutes = '0', seconds = '0', fraction = '', zone] = match;
  const [year, month, day] = [Number(years), Number(months), Number(days)];
  const [hour, minute, second] = [Number(hours), Number(minutes), Number(seconds)];
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const midnight = new Date(0).setUTCFullYear(year, month - 1, day);
  const date = new Date(midnight);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const time = ((hour * 60 + minute) * 60 + second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
  const moment = midnight + time - offsetOf(zone);
  return Math.abs(moment) > LAST_MOMENT ? undefined : moment;
}

/** How the API writes a moment: `YYYY-MM-DDTHH:MM:SS.mmmZ`. */
export function formatMoment(ms: number): string {
  // JavaScript writes years of more than four digits with a sign and leading zeros, the provider without.
  return new Date(ms).toISOString().replace(/^\+0*/, '');
}

/** The day of the UTC calendar that a moment falls on. */
export function dayOf(ms: number): number {
  return Math.floor(ms / 86_400_000);
}

function offsetOf(zone: string | undefined): number {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone ?? '') ?? [];
  if (sign === undefined) return 0;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return sign === '-' ? -offset : offset;
}
