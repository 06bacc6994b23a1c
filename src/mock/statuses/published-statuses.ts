import type { Clock } from '../../base/clock.ts';
import { type Account, accountEntity, application } from './accounts.ts';
import { recordOf } from './answers.ts';
import { type MediaAttachments, mediaEntity } from './media-attachments.ts';
import { choicesOf, type NewStatus, type Poll, pollDurationOf } from './new-status.ts';
import { isBlank, truth } from './parameters.ts';

/** A published status. */
export interface PublishedStatus extends NewStatus {
  readonly id: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The account id of the status that it replies to. */
  readonly inReplyToAccountId: number | undefined;
}

/** Published statuses count from behind this, so that none has the id of a scheduled one. */
const BEFORE_FIRST_ID = 100_000_000_000;

export type PublishedStatuses = ReturnType<typeof publishedStatuses>;

/** The published statuses. */
export function publishedStatuses(clock: Clock, media: MediaAttachments) {
  const published = new Map<number, PublishedStatus>();
  let lastId = BEFORE_FIRST_ID;
  return {
    publish({ account, params, media: files }: NewStatus): PublishedStatus {
      media.attach(files, 'published');
      const inReplyToAccountId = published.get(params.in_reply_to_id ?? Number.NaN)?.account.id;
      const id = ++lastId;
      const status = { account, params, media: files, id, createdAt: clock.now(), inReplyToAccountId };
      published.set(id, status);
      return status;
    },

    /** @throws ApiError 404 if there is none that the viewer may see */
    find: (id: string, viewer: Account | undefined) =>
      recordOf(published, id, (status) => maySee(status, viewer)),

    /** Deletes a status of this author; its files are free again. @throws ApiError 404 */
    delete(id: string, author: Account): PublishedStatus {
      const status = recordOf(published, id, ({ account }) => account === author);
      published.delete(status.id);
      media.release(status.media);
      return status;
    },

    isVisible: (id: number, viewer: Account): boolean =>
      published.values().some((status) => status.id === id && maySee(status, viewer)),

    /** The statuses of an author that the viewer may see, id descending. */
    by: (author: Account, viewer: Account | undefined): PublishedStatus[] =>
      [...published.values()].reverse().filter((one) => one.account === author && maySee(one, viewer)),
  };
}

function maySee(status: PublishedStatus, viewer: Account | undefined): boolean {
  return ['public', 'unlisted'].includes(visibilityOf(status)) || status.account === viewer;
}

/** Who may see a status. The mock has no followers, so only the author sees two of the four visibilities. */
function visibilityOf({ params }: NewStatus): string {
  return isBlank(params.visibility) ? 'public' : String(params.visibility);
}

/** A status as the API shows it. */
export function statusEntity(status: PublishedStatus, baseUrl: string, now: number) {
  const { id, createdAt, account, params, media, inReplyToAccountId } = status;
  const spoilerText = String(params.spoiler_text ?? '');
  return {
    id: String(id),
    created_at: new Date(createdAt).toISOString(),
    in_reply_to_id: params.in_reply_to_id?.toString() ?? null,
    in_reply_to_account_id: inReplyToAccountId?.toString() ?? null,
    sensitive: truth(params.sensitive) || spoilerText !== '',
    spoiler_text: spoilerText,
    visibility: visibilityOf(status),
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
    poll: params.poll === null ? null : pollEntity(params.poll, status, now),
  };
}

/** A status has at most one poll, so that its id serves for the poll's. */
function pollEntity(poll: Poll, { id, createdAt }: PublishedStatus, now: number) {
  const expiresAt = createdAt + (pollDurationOf(poll) ?? 0) * 1000;
  const votes = truth(poll.hide_totals) && expiresAt > now ? null : 0;
  return {
    id: String(id),
    expires_at: new Date(expiresAt).toISOString(),
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
