import type { Clock } from '../../base/clock.ts';
import { type Account, accountEntity } from './accounts.ts';
import { recordNotFound } from './api-error.ts';
import { type MediaAttachments, mediaEntity } from './media-attachments.ts';
import { formatMoment } from './moments.ts';
import type { NewStatus } from './new-status.ts';
import { choicesOf, durationOf, type PollParameters } from './poll.ts';
import { isBlank, truth } from './scalars.ts';

/** A published status. */
export interface Status {
  readonly id: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly content: NewStatus;
  /** The account id of the status that it replies to. */
  readonly inReplyToAccountId: number | null;
}

/** Published statuses count from here, so that none has the id of a scheduled one. */
const FIRST_ID = 100_000_000_001;

/** The published statuses. */
export class PublishedStatuses {
  readonly #clock: Clock;
  readonly #media: MediaAttachments;
  readonly #published = new Map<number, Status>();

  constructor(clock: Clock, media: MediaAttachments) {
    this.#clock = clock;
    this.#media = media;
  }

  publish(content: NewStatus): Status {
    this.#media.attach(content.media);
    const target = this.#published.get(content.params.in_reply_to_id ?? Number.NaN);
    const status: Status = {
      id: FIRST_ID + this.#published.size,
      createdAt: this.#clock.now(),
      content,
      inReplyToAccountId: target?.content.account.id ?? null,
    };
    this.#published.set(status.id, status);
    return status;
  }

  /** @throws ApiError 404 if there is none that the viewer may see */
  find(id: string, viewer: Account | undefined): Status {
    const status = this.#published.get(/^\d+$/.test(id) ? Number(id) : Number.NaN);
    if (status === undefined || !maySee(status, viewer)) throw recordNotFound();
    return status;
  }

  /** The statuses of an author that the viewer may see, id descending. */
  by(author: Account, viewer: Account | undefined): Status[] {
    const all = [...this.#published.values()].reverse();
    return all.filter((status) => status.content.account === author && maySee(status, viewer));
  }

  isVisible(id: number, viewer: Account): boolean {
    const status = this.#published.get(id);
    return status !== undefined && maySee(status, viewer);
  }

  clear(): void {
    this.#published.clear();
  }
}

function maySee({ content }: Status, viewer: Account | undefined): boolean {
  return ['public', 'unlisted'].includes(visibilityOf(content)) || content.account === viewer;
}

/** Who may see a status. The mock has no followers, so only the author sees two of the four visibilities. */
function visibilityOf({ params }: NewStatus): string {
  return isBlank(params.visibility) ? 'public' : String(params.visibility);
}

/** A status as the API shows it. */
export function statusEntity(
  { id, createdAt, content, inReplyToAccountId }: Status,
  baseUrl: string,
  now: number,
) {
  const { account, application, params, media } = content;
  const spoilerText = String(params.spoiler_text ?? '');
  return {
    id: String(id),
    created_at: formatMoment(createdAt),
    in_reply_to_id: params.in_reply_to_id === null ? null : String(params.in_reply_to_id),
    in_reply_to_account_id: inReplyToAccountId === null ? null : String(inReplyToAccountId),
    sensitive: truth(params.sensitive) || spoilerText !== '',
    spoiler_text: spoilerText,
    visibility: visibilityOf(content),
    language: 'en',
    uri: `${baseUrl}/users/${account.username}/statuses/${id}`,
    url: `${baseUrl}/@${account.username}/${id}`,
    replies_count: 0,
    reblogs_count: 0,
    favourites_count: 0,
    favourited: false,
    reblogged: false,
    muted: false,
    bookmarked: false,
    pinned: false,
    content: htmlOf(params.text),
    reblog: null,
    application: { name: application.name, website: null },
    account: accountEntity(account, baseUrl),
    media_attachments: media.map(mediaEntity),
    mentions: [],
    tags: [],
    emojis: [],
    card: null,
    poll: params.poll === null ? null : pollEntity(id, params.poll, createdAt, now),
  };
}

/** A status has at most one poll, so that its id serves for the poll's. */
function pollEntity(id: number, poll: PollParameters, createdAt: number, now: number) {
  const expiresAt = createdAt + (durationOf(poll) ?? 0) * 1000;
  const votes = truth(poll.hide_totals) && expiresAt > now ? null : 0;
  return {
    id: String(id),
    expires_at: formatMoment(expiresAt),
    expired: expiresAt <= now,
    multiple: truth(poll.multiple),
    votes_count: 0,
    voters_count: 0,
    options: choicesOf(poll).map((title) => ({ title, votes_count: votes })),
    voted: true,
    own_votes: [],
    emojis: [],
  };
}

function htmlOf(text: string): string {
  if (isBlank(text)) return '';
  const escaped = text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  const paragraphs = escaped.trim().split(/\n{2,}/);
  return paragraphs.map((paragraph) => `<p>${paragraph.replaceAll('\n', '<br />')}</p>`).join('');
}
