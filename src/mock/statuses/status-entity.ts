import { accountEntity } from './accounts.ts';
import { mediaEntity } from './media-attachments.ts';
import { formatMoment } from './moments.ts';
import type { Draft } from './new-status.ts';
import { choicesOf, durationOf, type PollParameters } from './poll.ts';
import { isBlank, truth } from './scalars.ts';

/** A status that is out. */
export interface Status {
  readonly id: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly draft: Draft;
  /** The account id of whom it replies to. */
  readonly inReplyToAccountId: number | null;
}

/** Who may see a status; nobody follows anybody in the mock, so two of the four are for the author alone. */
export function visibilityOf({ params }: Draft): string {
  return isBlank(params.visibility) ? 'public' : String(params.visibility);
}

/** A status as the API shows it. */
export function statusEntity(
  { id, createdAt, draft, inReplyToAccountId }: Status,
  baseUrl: string,
  now: number,
) {
  const { account, application, params, media } = draft;
  const spoilerText = String(params.spoiler_text ?? '');
  return {
    id: String(id),
    created_at: formatMoment(createdAt),
    in_reply_to_id: params.in_reply_to_id === null ? null : String(params.in_reply_to_id),
    in_reply_to_account_id: inReplyToAccountId === null ? null : String(inReplyToAccountId),
    sensitive: truth(params.sensitive) || spoilerText !== '',
    spoiler_text: spoilerText,
    visibility: visibilityOf(draft),
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
