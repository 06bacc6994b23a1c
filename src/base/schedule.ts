import { Cron } from 'croner';

/** When a schedule comes: at the multiples of so many milliseconds since the epoch, or by a cron expression in a time zone. */
export type Spec = { readonly every: number } | { readonly cron: string; readonly zone: string };

/** The first time after another one, in milliseconds since the epoch; undefined if none comes. @throws Error if it is no cron expression, or no zone */
export function nextOf(spec: Spec, after: number): number | undefined {
  if ('every' in spec) return (Math.floor(after / spec.every) + 1) * spec.every;
  return new Cron(spec.cron, { timezone: spec.zone }).nextRun(new Date(after))?.getTime();
}

/** The last time that is not after another one; undefined if none has come. */
export function lastOf(spec: Spec, at: number): number | undefined {
  if ('every' in spec) return Math.floor(at / spec.every) * spec.every;
  return new Cron(spec.cron, { timezone: spec.zone }).previousRuns(1, new Date(at + 1))[0]?.getTime();
}
