import { isBlank, leadingInteger, type Parameters, scalar, scalars } from './parameters.ts';

const MIN_OPTIONS = 2;
const MAX_OPTIONS = 4;
const MAX_LENGTH = 50;
/** Five minutes, in seconds. */
const MIN_DURATION = 300;
/** A month as Rails measures one: a twelfth of a year of 365.2425 days, in seconds. */
const MAX_DURATION = 2_629_746;

/** A poll as it was sent, and as `params` echoes it. */
export type Poll = NonNullable<ReturnType<typeof readPoll>>;

/** The poll among the parameters; null where none was sent. */
export function readPoll(sent: unknown) {
  if (typeof sent !== 'object' || sent === null || Object.keys(sent).length === 0) return null;
  const members: Parameters = { ...sent };
  return {
    options: scalars(members.options) ?? [],
    expires_in: scalar(members.expires_in) ?? null,
    multiple: scalar(members.multiple),
    hide_totals: scalar(members.hide_totals),
  };
}

/** The choices of a poll, without empty ones. */
export function choicesOf({ options }: Poll): string[] {
  return options.map((option) => String(option).trim()).filter((option) => option !== '');
}

/** How long a poll is open, in seconds; undefined if it has no end. */
export function durationOf({ expires_in }: Poll): number | undefined {
  return expires_in === null || isBlank(expires_in) ? undefined : leadingInteger(expires_in);
}

/** The rules for a poll, in the provider's words and order, and whether this one breaks them. */
export function pollRules(poll: Poll): (readonly [isBroken: boolean, problem: string])[] {
  const choices = choicesOf(poll);
  const longest = Math.max(...choices.map(charactersOf));
  const duration = durationOf(poll);
  return [
    [choices.length < MIN_OPTIONS, 'Choices must have more than one item'],
    [choices.length > MAX_OPTIONS, `Choices can't contain more than ${MAX_OPTIONS} items`],
    [longest > MAX_LENGTH, `Choices cannot be longer than ${MAX_LENGTH} characters each`],
    [new Set(choices).size < choices.length, 'Choices contain duplicate items'],
    [duration === undefined || duration > MAX_DURATION, 'Deadline is too far into the future'],
    [duration !== undefined && duration < MIN_DURATION, 'Deadline is too soon'],
  ];
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** How many characters a reader sees. */
export function charactersOf(text: string): number {
  return [...graphemes.segment(text)].length;
}
