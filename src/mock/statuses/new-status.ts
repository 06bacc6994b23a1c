import { type Account, application } from './accounts.ts';
import { ApiError, check } from './answers.ts';
import { type Media, type MediaAttachments, tooManyFiles } from './media-attachments.ts';
import { isBlank, leadingInteger, type Parameters, type Scalar, scalar, scalars } from './parameters.ts';
import { charactersOf, pollRules, readPoll } from './poll.ts';

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
  /** Whether a published status exists that the author may see. */
  canReplyTo(id: number, author: Account): boolean;
}

/**
 * Reads the parameters of `POST /api/v1/statuses`.
 * @throws ApiError 404 for an unknown reply target, 422 for parameters that break a rule
 */
export function readNewStatus(account: Account, sent: Parameters, around: Surroundings): NewStatus {
  const params = paramsOf(sent);
  const { in_reply_to_id: target, media_ids, poll, text, spoiler_text, visibility } = params;
  if (target !== null && !around.canReplyTo(target, account)) {
    throw new ApiError(404, 'The post you are trying to reply to does not appear to exist.');
  }
  if (media_ids !== null && media_ids.length > 0 && poll !== null) throw tooManyFiles();
  const media = around.media.choose(account, media_ids ?? []);
  const written = `${spoiler_text ?? ''}${text}`.replace(/https?:\/\/\S+/g, 'x'.repeat(23));
  const isKnownVisibility = isBlank(visibility) || VISIBILITIES.includes(String(visibility));
  check([
    [isBlank(text) && media.length === 0, "Text can't be blank"],
    [charactersOf(written) > TEXT_MAX, `Text character limit of ${TEXT_MAX} exceeded`],
    [!isKnownVisibility, 'Visibility is not included in the list'],
    ...(poll === null ? [] : pollRules(poll)),
  ]);
  return { account, params, media };
}

/** The parameters of a status: the ten members of the specification, in the provider's order. */
function paramsOf(sent: Parameters) {
  const plain = (name: string): Scalar | null => scalar(sent[name]) ?? null;
  const target = plain('in_reply_to_id');
  return {
    poll: readPoll(sent.poll),
    text: String(plain('status') ?? ''),
    media_ids: scalars(sent.media_ids) ?? null,
    sensitive: plain('sensitive'),
    visibility: plain('visibility'),
    idempotency: null,
    scheduled_at: null,
    spoiler_text: plain('spoiler_text'),
    application_id: application.id,
    in_reply_to_id: target === null || isBlank(target) ? null : leadingInteger(target),
  };
}
