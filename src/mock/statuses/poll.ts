import { isBlank, leadingInteger, type Scalar, scalar, scalars } from './scalars.ts';

const MIN_OPTIONS = 2;
const MAX_OPTIONS = 4;
const MAX_OPTION_CHARACTERS = 50;
/** Five minutes, in seconds. */
const MIN_DURATION = 300;
/** A month as Rails measures one: a twelfth of a year of 365.2425 days, in seconds. */
const MAX_DURATION = 2_629_746;

/** A poll as it was sent, and as `params` echoes it. */
export interface PollParameters {
  readonly options: readonly Scalar[];
  readonly expires_in: Scalar | null;
  readonly multiple?: Scalar;
  readonly hide_totals?: Scalar;
}

/** The poll among the parameters; null where none was sent. */
export function readPoll(sent: unknown): PollParameters | null {
  if (typeof sent !== 'object' || sent === null || Object.keys(sent).length === 0) return null;
  const members = new Map<string, unknown>(Object.entries(sent));
  const multiple = scalar(members.get('multiple'));
  const hideTotals = scalar(members.get('hide_totals'));
  return {
    options: scalars(members.get('options')) ?? [],
    expires_in: scalar(members.get('expires_in')) ?? null,
    ...(multiple !== undefined && { multiple }),
    ...(hideTotals !== undefined && { hide_totals: hideTotals }),
  };
}

/** The choices of a poll, without empty ones. */
export function choicesOf(poll: PollParameters): string[] {
  return poll.options.map((option) => String(option).trim()).filter((option) => option !== '');
}

/** How long a poll is open, in seconds; undefined if it has no end. */
export function durationOf(poll: PollParameters): number | undefined {
  return poll.expires_in === null || isBlank(poll.expires_in) ? undefined : leadingInteger(poll.expires_in);
}

/** Which rules a poll breaks, in the provider's words and order. */
export function pollProblems(poll: PollParameters): string[] {
  const choices = choicesOf(poll);
  const duration = durationOf(poll);
  const rules: [boolean, string][] = [
    [choices.length < MIN_OPTIONS, 'Choices must have more than one item'],
    [choices.length > MAX_OPTIONS, `Choices can't contain more than ${MAX_OPTIONS} items`],
    [
      choices.some((choice) => charactersOf(choice) > MAX_OPTION_CHARACTERS),
      `Choices cannot be longer than ${MAX_OPTION_CHARACTERS} characters each`,
    ],
    [new Set(choices).size < choices.length, 'Choices contain duplicate items'],
    [duration === undefined || duration > MAX_DURATION, 'Deadline is too far into the future'],
    [duration !== undefined && duration < MIN_DURATION, 'Deadline is too soon'],
  ];
  return rules.filter(([broken]) => broken).map(([, problem]) => problem);
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** How many characters a reader sees. */
export function charactersOf(text: string): number {
  return [...graphemes.segment(text)].length;
}
