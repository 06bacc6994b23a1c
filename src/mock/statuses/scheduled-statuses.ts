import type { Clock } from '../../base/clock.ts';
import type { Account } from './accounts.ts';
import { recordNotFound, validationFailed } from './api-error.ts';
import { type MediaAttachments, mediaEntity } from './media-attachments.ts';
import { dayOf, formatMoment, parseMoment } from './moments.ts';
import type { NewStatus } from './new-status.ts';
import type { PublishedStatuses } from './published-statuses.ts';

/** How far ahead a status must be scheduled, in milliseconds: more than this. */
export const MIN_LEAD = 300_000;
/** How many statuses a user may have scheduled in all. */
export const TOTAL_LIMIT = 300;
/** How many statuses a user may have scheduled on one day of the UTC calendar. */
export const DAILY_LIMIT = 25;

/** A scheduled status. */
export interface ScheduledStatus {
  readonly id: number;
  /** When it is published, in milliseconds since the epoch. */
  readonly at: number;
  readonly content: NewStatus;
}

/** The scheduled statuses. At its time, each is removed here and published under another id. */
export class ScheduledStatuses {
  readonly #clock: Clock;
  readonly #media: MediaAttachments;
  readonly #statuses: PublishedStatuses;
  readonly #records = new Map<number, ScheduledStatus>();
  #lastId = 0;
  #disarm: () => void = () => undefined;

  constructor(clock: Clock, media: MediaAttachments, statuses: PublishedStatuses) {
    this.#clock = clock;
    this.#media = media;
    this.#statuses = statuses;
  }

  /** @throws ApiError 422 where the time breaks a rule */
  schedule(content: NewStatus, scheduledAt: unknown): ScheduledStatus {
    const at = this.#check(content.account, scheduledAt);
    this.#media.attach(content.media);
    return this.#put({ id: ++this.#lastId, at, content });
  }

  /** The scheduled statuses of a user, id descending. */
  of(account: Account): ScheduledStatus[] {
    return [...this.#records.values()]
      .filter(({ content }) => content.account === account)
      .sort((left, right) => right.id - left.id);
  }

  /** @throws ApiError 404 where the user has none of this id */
  find(account: Account, id: string): ScheduledStatus {
    const record = this.#records.get(/^\d+$/.test(id) ? Number(id) : Number.NaN);
    if (record?.content.account !== account) throw recordNotFound();
    return record;
  }

  /** @throws ApiError 422 where the time breaks a rule; the record is then as it was */
  reschedule(record: ScheduledStatus, scheduledAt: unknown): ScheduledStatus {
    return this.#put({ ...record, at: this.#check(record.content.account, scheduledAt) });
  }

  cancel(record: ScheduledStatus): void {
    this.#records.delete(record.id);
    this.#media.release(record.content.media);
    this.#arm();
  }

  clear(): void {
    this.#disarm();
    this.#records.clear();
    this.#lastId = 0;
  }

  #check(account: Account, scheduledAt: unknown): number {
    const at = parseMoment(scheduledAt);
    const problems = timeProblems(at, this.of(account), this.#clock.now());
    if (at === undefined || problems.length > 0) throw validationFailed(problems);
    return at;
  }

  #put(record: ScheduledStatus): ScheduledStatus {
    this.#records.set(record.id, record);
    this.#arm();
    return record;
  }

  /** One timer, for the status that is due first. A clock may fire it early where the time is far off. */
  #arm(): void {
    this.#disarm();
    if (this.#records.size === 0) return;
    const first = Math.min(...[...this.#records.values()].map(({ at }) => at));
    this.#disarm = this.#clock.after(Math.max(0, first - this.#clock.now()), () => this.#publishDue());
  }

  #publishDue(): void {
    const due = [...this.#records.values()].filter(({ at }) => at <= this.#clock.now());
    for (const { id, content } of due.sort((left, right) => left.at - right.at || left.id - right.id)) {
      this.#records.delete(id);
      this.#statuses.publish(content);
    }
    this.#arm();
  }
}

/** A scheduled status as the API shows it. */
export function scheduledStatusEntity({ id, at, content }: ScheduledStatus) {
  return {
    id: String(id),
    scheduled_at: formatMoment(at),
    params: content.params,
    media_attachments: content.media.map(mediaEntity),
  };
}

/**
 * Which rules a time breaks, in the provider's words and order. The same rules hold on creation and on change, where the
 * status that is changed counts like any other, as it does in the provider's code.
 * @param at the requested time, undefined if it could not be read
 * @param scheduled all that the user has scheduled
 */
function timeProblems(at: number | undefined, scheduled: readonly ScheduledStatus[], now: number) {
  const problems: string[] = [];
  if (at === undefined) problems.push('Scheduled at is not an ISO 8601 date and time');
  else if (at <= now + MIN_LEAD) problems.push('Scheduled at The scheduled date must be in the future');
  if (scheduled.length >= TOTAL_LIMIT) {
    problems.push(`You have exceeded the limit of ${TOTAL_LIMIT} scheduled posts`);
  }
  const sameDay = scheduled.filter((other) => at !== undefined && dayOf(other.at) === dayOf(at));
  if (sameDay.length >= DAILY_LIMIT) {
    problems.push(`You have exceeded the limit of ${DAILY_LIMIT} scheduled posts for today`);
  }
  return problems;
}
