import { type Account, application } from './accounts.ts';
import { ApiError, checkRules } from './answers.ts';
import { type Media, type MediaAttachments, tooManyFiles } from './media-attachments.ts';
import { isBlank, leadingInteger, type Parameters, type Scalar, scalar, scalars } from './parameters.ts';

/** Characters of text and content warning together; an address counts as 23 of them. */
const TEXT_MAX = 500;

const VISIBILITIES = ['public', 'unlisted', 'private', 'direct'];

/** A status to publish, now or later. Its parameters have passed all checks but those of `scheduled_at`. */
export interface NewStatus {
  readonly account: Account;
  readonly params: ReturnType<typeof paramsOf>;
  readonly media: readonly Media[];
}

/** The state that a new status is checked against. */
interface Surroundings {
  readonly media: MediaAttachments;
  /** Whether the status is published now. */
  readonly isAtOnce: boolean;
  /** Whether a published status exists that the author may see. */
  canReplyTo(id: number, author: Account): boolean;
}

/**
 * Reads the parameters of `POST /api/v1/statuses`.
 * @throws ApiError 404 for an unknown reply target, 422 for parameters that break a rule
 */
export function readNewStatus(account: Account, sent: Parameters, around: Surroundings): NewStatus {
  const params = paramsOf(sent, around.isAtOnce);
  const { in_reply_to_id: target, media_ids, poll, text, spoiler_text, visibility } = params;
  if (target !== null && !around.canReplyTo(target, account)) {
    throw new ApiError(404, 'The post you are trying to reply to does not appear to exist.');
  }
  if (media_ids !== null && media_ids.length > 0 && poll !== null) throw tooManyFiles();
  const media = around.media.choose(account, media_ids ?? []);
  const written = `${spoiler_text ?? ''}${text}`.replace(/https?:\/\/\S+/g, 'x'.repeat(23));
  const isKnownVisibility = isBlank(visibility) || VISIBILITIES.includes(String(visibility));
  checkRules([
    [isBlank(text) && (media.length === 0 || !isBlank(spoiler_text)), "Text can't be blank"],
    [charactersOf(written) > TEXT_MAX, `Text character limit of ${TEXT_MAX} exceeded`],
    [!isKnownVisibility, 'Visibility is not included in the list'],
    ...(poll === null ? [] : pollRules(poll)),
  ]);
  return { account, params, media };
}

/** The parameters of a status: the ten members of the specification, in the provider's order. */
function paramsOf(sent: Parameters, isAtOnce: boolean) {
  const plain = (name: string): Scalar | null => scalar(sent[name]) ?? null;
  const target = plain('in_reply_to_id');
  const warning = plain('spoiler_text');
  const isWarningText = isAtOnce && isBlank(plain('status')) && !isBlank(warning);
  return {
    poll: readPoll(sent.poll),
    text: String((isWarningText ? warning : plain('status')) ?? ''),
    media_ids: scalars(sent.media_ids) ?? null,
    sensitive: isWarningText || plain('sensitive'),
    visibility: plain('visibility'),
    idempotency: null,
    scheduled_at: null,
    spoiler_text: isWarningText ? null : warning,
    application_id: application.id,
    in_reply_to_id: target === null || isBlank(target) ? null : leadingInteger(target),
  };
}

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
function readPoll(sent: unknown) {
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
export function pollDurationOf({ expires_in }: Poll): number | undefined {
  return expires_in === null || isBlank(expires_in) ? undefined : leadingInteger(expires_in);
}

/** The rules for a poll, in the provider's words and order, and whether this one breaks them. */
function pollRules(poll: Poll): (readonly [isBroken: boolean, problem: string])[] {
  const choices = choicesOf(poll);
  const longest = Math.max(...choices.map(charactersOf));
  const duration = pollDurationOf(poll);
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
function charactersOf(text: string): number {
  return [...graphemes.segment(text)].length;
}
