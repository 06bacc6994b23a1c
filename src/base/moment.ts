import { UNIT_MS } from './duration.ts';

const DATE = /^\d{4}-\d\d-\d\d$/;
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?$/;

/**
 * A moment as people write it, in milliseconds since the epoch: a date, a date and time (UTC without an offset), or how
 * long before `now`. Undefined if the text is none.
 */
export function momentOf(text: string, now: number): number | undefined {
  return relative(text, now) ?? absolute(text);
}

function relative(text: string, now: number): number | undefined {
  const [, number, unit = ''] = /^(\d{1,6})\s*(s|m|h|d|w)(?:\s+ago)?$/.exec(text) ?? [];
  const factor = UNIT_MS[unit];
  return factor === undefined ? undefined : now - Number(number) * factor;
}

function absolute(text: string): number | undefined {
  const [, date, clock, offset = 'Z'] = DATE_TIME.exec(text) ?? [];
  const day = DATE.test(text) ? text : date;
  if (day === undefined || !exists(day)) return undefined;
  const time = Date.parse(clock === undefined ? day : `${day}T${clock}${offset}`);
  return Number.isNaN(time) ? undefined : time;
}

/** Date.parse reads 30 February as 2 March. */
function exists(day: string): boolean {
  const time = Date.parse(day);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}
