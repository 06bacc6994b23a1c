import { InvalidArgumentError } from 'commander';
import { systemClock } from '../base/clock.ts';
import { durationOf, UNIT_MS } from '../base/duration.ts';
import { KitError } from '../base/errors.ts';

/** A whole number from 0 on. */
export function wholeNumberTo(most: number): (text: string) => number {
  return wholeNumberFrom(0, most);
}

function wholeNumberFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,10}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

const MOST = 1_000_000_000;
export const wholeNumber = wholeNumberTo(MOST);

/** A whole number from 1 on. */
export const atLeastOne = wholeNumberFrom(1, MOST);

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

/** @throws KitError INPUT_INVALID if a URL has a password in it, or may have: without the URL, which goes to logs */
export function refuseCredentials(text: string): void {
  const url = URL.parse(text);
  if (url ? url.username === '' && url.password === '' : !text.includes('@')) return;
  throw new KitError(
    'INPUT_INVALID',
    'a URL must not have a user name or a password in it, which every user of the machine can read (the given value is not shown)',
  );
}

/** The URL of a receiver. */
export function receiverUrl(text: string): URL {
  refuseCredentials(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new InvalidArgumentError('It must be a URL such as http://127.0.0.1:3000/webhooks/media.');
}

export const TIME_HELP =
  'as 2026-11-19, 2026-11-19T14:00 or 2026-11-19T14:00:00+01:00 (UTC without an offset), or 2h ago';

/** A moment as people write it, in milliseconds since the epoch. */
export function moment(text: string): number {
  const time = momentOf(text.trim(), systemClock.now());
  if (time !== undefined) return time;
  throw new InvalidArgumentError(
    'It must be a date (2026-11-19), a date and time (2026-11-19T14:00, 2026-11-19T14:00:00+01:00; UTC without an ' +
      'offset), or how long ago (30m, 2h, 3d ago).',
  );
}

const DATE_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * A moment as people write it, in milliseconds since the epoch: a date, a date and time (UTC without an offset), or how
 * long before `now`, as `2h` or `3 d ago`. Undefined if the text is none.
 */
function momentOf(text: string, now: number): number | undefined {
  const [, number, unit = ''] = /^(\d{1,6})\s*(s|m|h|d|w)(?:\s+ago)?$/.exec(text) ?? [];
  const factor = UNIT_MS[unit];
  if (factor !== undefined) return now - Number(number) * factor;
  const [, day, clock = '00:00', offset = 'Z'] = DATE_TIME.exec(text) ?? [];
  const midnight = Date.parse(day ?? '');
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day ?? '')) return undefined;
  const time = Date.parse(`${day}T${clock}${offset}`);
  return Number.isNaN(time) ? undefined : time;
}

/** A length of time, `90s` or `10m`, in milliseconds. */
export function duration(text: string): number {
  const ms = durationOf(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError(
    'It must be a number with ms, s, m, h or d, such as 10m, and at most 100 years (36500d).',
  );
}
