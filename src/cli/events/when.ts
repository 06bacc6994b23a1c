import { InvalidArgumentError } from 'commander';
import { systemClock } from '../../base/clock.ts';

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const DATE = /^\d{4}-\d\d-\d\d$/;
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?$/;

export const TIME_HELP =
  'as 2026-11-19, 2026-11-19T14:00 or 2026-11-19T14:00:00+01:00 (UTC without an offset), or 2h ago';

/**
 * A moment as people write it, in milliseconds since the epoch: for options.
 * @throws InvalidArgumentError if it is none
 */
export function moment(text: string): number {
  const time = relative(text.trim()) ?? absolute(text.trim());
  if (time !== undefined) return time;
  throw new InvalidArgumentError(
    'It must be a date (2026-11-19), a date and time (2026-11-19T14:00, 2026-11-19T14:00:00+01:00; UTC without an ' +
      'offset), or how long ago (30m, 2h, 3d ago).',
  );
}

function relative(text: string): number | undefined {
  const [, number, unit = ''] = /^(\d{1,6})\s*(s|m|h|d|w)(?:\s+ago)?$/.exec(text) ?? [];
  const factor = UNITS[unit];
  return factor === undefined ? undefined : systemClock.now() - Number(number) * factor;
}

function absolute(text: string): number | undefined {
  const [, date, clock, offset = 'Z'] = DATE_TIME.exec(text) ?? [];
  const day = DATE.test(text) ? text : date;
  if (day === undefined || !exists(day)) return undefined;
  const time = Date.parse(clock === undefined ? day : `${day}T${clock}${offset}`);
  return Number.isNaN(time) ? undefined : time;
}

/** Date.parse takes 30 February for 2 March. */
function exists(day: string): boolean {
  const time = Date.parse(day);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}
