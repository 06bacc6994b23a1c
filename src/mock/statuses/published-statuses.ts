import type { Clock } from '../../base/clock.ts';
import type { Account } from './accounts.ts';
import { recordNotFound } from './api-error.ts';
import type { MediaAttachments } from './media-attachments.ts';
import type { Draft } from './new-status.ts';
import { type Status, visibilityOf } from './status-entity.ts';

/** Published statuses count from here, so that none has the id of a scheduled one. */
const FIRST_ID = 100_000_000_001;

/** The statuses that are out. */
export class Statuses {
  readonly #clock: Clock;
  readonly #media: MediaAttachments;
  readonly #published = new Map<number, Status>();

  constructor(clock: Clock, media: MediaAttachments) {
    this.#clock = clock;
    this.#media = media;
  }

  publish(draft: Draft): Status {
    this.#media.attach(draft.media);
    const target = this.#published.get(draft.params.in_reply_to_id ?? Number.NaN);
    const status: Status = {
      id: FIRST_ID + this.#published.size,
      createdAt: this.#clock.now(),
      draft,
      inReplyToAccountId: target?.draft.account.id ?? null,
    };
    this.#published.set(status.id, status);
    return status;
  }

  /** @throws ApiError 404 where there is none that the viewer may see */
  find(id: string, viewer: Account | undefined): Status {
    const status = this.#published.get(/^\d+$/.test(id) ? Number(id) : Number.NaN);
    if (status === undefined || !maySee(status, viewer)) throw recordNotFound();
    return status;
  }

  /** What an author has published and the viewer may see, id descending. */
  by(author: Account, viewer: Account | undefined): Status[] {
    const all = [...this.#published.values()].reverse();
    return all.filter((status) => status.draft.account === author && maySee(status, viewer));
  }

  isVisible(id: number, viewer: Account): boolean {
    const status = this.#published.get(id);
    return status !== undefined && maySee(status, viewer);
  }

  clear(): void {
    this.#published.clear();
  }
}

function maySee({ draft }: Status, viewer: Account | undefined): boolean {
  return ['public', 'unlisted'].includes(visibilityOf(draft)) || draft.account === viewer;
}
