import { z } from 'zod';

/** Milliseconds since the epoch as the API writes them. */
export function iso(time: number): string {
  return new Date(time).toISOString();
}

export function isoOrNull(time: number | undefined): string | null {
  return time === undefined ? null : iso(time);
}

/** A time as the API takes it: a date, or a date and time with an offset; milliseconds since the epoch inside. */
export const moment = z
  .union([
    z.iso.datetime({ offset: true }),
    z.iso.datetime({ local: true }).transform((text) => `${text}Z`),
    z.iso.date(),
  ])
  .transform((text) => Date.parse(text))
  .describe('2026-11-19, 2026-11-19T14:00 or 2026-11-19T14:00:00+01:00; UTC without an offset');
