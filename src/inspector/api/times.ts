import { z } from 'zod';

/** A time as the API takes it: a date, or a date and time with an offset; milliseconds since the epoch inside. */
export const moment = z
  .union([
    z.iso.datetime({ offset: true }),
    z.iso.datetime({ local: true }).transform((text) => `${text}Z`),
    z.iso.date(),
  ])
  .transform((text) => Date.parse(text))
  .describe('2026-11-19, 2026-11-19T14:00 or 2026-11-19T14:00:00+01:00; UTC without an offset');
