import { InvalidArgumentError } from 'commander';
import { durationOf } from '../base/duration.ts';

/**
 * A length of time for an option, `90s` or `10m`, in milliseconds.
 * @throws InvalidArgumentError if it is none
 */
export function duration(text: string): number {
  const ms = durationOf(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError('It must be a number with ms, s, m, h or d, such as 10m.');
}
