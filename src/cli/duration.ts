import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A length of time as people write it, `90s` or `10m`, in milliseconds: for options.
 * @throws InvalidArgumentError if it is none
 */
export function duration(text: string): number {
  const [, number, unit = ''] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (factor !== undefined) return Number(number) * factor;
  throw new InvalidArgumentError('It must be a number with ms, s, m, h or d, such as 10m.');
}
