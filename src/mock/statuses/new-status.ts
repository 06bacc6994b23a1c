import type { Account, Application } from './accounts.ts';
import { ApiError, validationFailed } from './api-error.ts';
import { type Media, type MediaAttachments, tooManyFiles } from './media-attachments.ts';
import { charactersOf, type PollParameters, pollProblems, readPoll } from './poll.ts';
import type { Parameters } from './request-parameters.ts';
import { isBlank, leadingInteger, type Scalar, scalar, scalars } from './scalars.ts';

/** Characters of text and content warning together; an address counts as 23 of them. */
export const TEXT_MAX = 500;

const VISIBILITIES = ['public', 'unlisted', 'private', 'direct'];

/** The parameters of a status: the ten members of the specification, in the provider's order. */
export interface StatusParameters {
  readonly poll: PollParameters | null;
  readonly text: string;
  readonly media_ids: readonly Scalar[] | null;
  readonly sensitive: Scalar | null;
  readonly visibility: Scalar | null;
  readonly idempotency: null;
  readonly scheduled_at: null;
  readonly spoiler_text: Scalar | null;
  readonly application_id: number;
  readonly in_reply_to_id: number | null;
}

/** A status to publish, now or later. Its parameters have passed all checks but those of `scheduled_at`. */
export interface NewStatus {
  readonly account: Account;
  readonly application: Application;
  readonly params: StatusParameters;
  readonly media: readonly Media[];
}

/** Reads and checks the parameters of `POST /api/v1/statuses`. */
export class NewStatuses {
  readonly #media: MediaAttachments;
  readonly #isVisible: (statusId: number, viewer: Account) => boolean;

  /** @param isVisible whether a published status exists that the viewer may see, and so reply to */
  constructor(media: MediaAttachments, isVisible: (statusId: number, viewer: Account) => boolean) {
    this.#media = media;
    this.#isVisible = isVisible;
  }

  /** @throws ApiError 404 for an unknown reply target, 422 for parameters that break a rule */
  read(account: Account, application: Application, sent: Parameters): NewStatus {
    const replyTarget = this.#replyTarget(account, scalar(sent.in_reply_to_id));
    const mediaIds = scalars(sent.media_ids) ?? null;
    const poll = readPoll(sent.poll);
    if (mediaIds !== null && mediaIds.length > 0 && poll !== null) throw tooManyFiles();
    const media = this.#media.choose(account, mediaIds ?? []);
    const params: StatusParameters = {
      poll,
      text: String(scalar(sent.status) ?? ''),
      media_ids: mediaIds,
      sensitive: scalar(sent.sensitive) ?? null,
      visibility: scalar(sent.visibility) ?? null,
      idempotency: null,
      scheduled_at: null,
      spoiler_text: scalar(sent.spoiler_text) ?? null,
      application_id: application.id,
      in_reply_to_id: replyTarget,
    };
    const problems = problemsOf(params, media);
    if (problems.length > 0) throw validationFailed(problems);
    return { account, application, params, media };
  }

  #replyTarget(account: Account, sent: Scalar | undefined): number | null {
    if (sent === undefined || isBlank(sent)) return null;
    if (this.#isVisible(leadingInteger(sent), account)) return leadingInteger(sent);
    throw new ApiError(404, 'The post you are trying to reply to does not appear to exist.');
  }
}

function problemsOf(params: StatusParameters, media: readonly Media[]): string[] {
  const written = `${params.spoiler_text ?? ''}${params.text}`.replace(/https?:\/\/\S+/g, 'x'.repeat(23));
  const problems: string[] = [];
  if (isBlank(params.text) && media.length === 0) problems.push("Text can't be blank");
  if (charactersOf(written) > TEXT_MAX) problems.push(`Text character limit of ${TEXT_MAX} exceeded`);
  if (!isBlank(params.visibility) && !VISIBILITIES.includes(String(params.visibility))) {
    problems.push('Visibility is not included in the list');
  }
  return params.poll === null ? problems : [...problems, ...pollProblems(params.poll)];
}
