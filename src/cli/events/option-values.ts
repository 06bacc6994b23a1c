import { InvalidArgumentError } from 'commander';
import { systemClock } from '../../base/clock.ts';

const MOST = 1_000_000_000;

/** A whole number from 1 on. */
export function atLeastOne(text: string): number {
  const number = wholeNumber(text);
  if (number >= 1) return number;
  throw new InvalidArgumentError('It must be a whole number from 1 on.');
}

/** A whole number from 0 on. */
export function wholeNumber(text: string): number {
  if (/^\d{1,10}$/.test(text) && Number(text) <= MOST) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number, at most ${MOST}.`);
}

/** A probability. */
export function probability(text: string): number {
  const number = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= 0 && number <= 1) return number;
  throw new InvalidArgumentError('It must be a number from 0 to 1, such as 0.1.');
}

/** A factor of speed; `max` is Infinity. */
export function speed(text: string): number {
  if (text === 'max') return Infinity;
  const number = /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : 0;
  if (number > 0) return number;
  throw new InvalidArgumentError('It must be a factor such as 1, 10 or 0.5, or max.');
}

/** A text that is not empty. */
export function present(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It must not be empty.');
}

/** The URL of a receiver; other users of the machine would see a password in it. */
export function receiverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.password || url?.username) throw new InvalidArgumentError('It must not have a password in it.');
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new InvalidArgumentError('It must be a URL such as http://127.0.0.1:3000/webhooks/media.');
}

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

/** A moment as people write it, in milliseconds since the epoch. */
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

/** Date.parse reads 30 February as 2 March. */
function exists(day: string): boolean {
  const time = Date.parse(day);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}
