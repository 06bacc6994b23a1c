import { InvalidArgumentError } from 'commander';

const MOST = 1_000_000_000;

/** A whole number from 1, for options. */
export function atLeastOne(text: string): number {
  const number = wholeNumber(text);
  if (number >= 1) return number;
  throw new InvalidArgumentError('It must be a whole number from 1 on.');
}

/** A whole number from 0, for options. */
export function wholeNumber(text: string): number {
  if (/^\d{1,10}$/.test(text) && Number(text) <= MOST) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number, at most ${MOST}.`);
}

/** A probability, for options. */
export function probability(text: string): number {
  const number = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (number >= 0 && number <= 1) return number;
  throw new InvalidArgumentError('It must be a number from 0 to 1, such as 0.1.');
}
