import type { Clock } from '../../base/clock.ts';
import type { Account } from './accounts.ts';
import { recordNotFound, validationFailed } from './api-error.ts';
import type { MediaAttachments } from './media-attachments.ts';
import { parseMoment } from './moments.ts';
import type { Draft } from './new-status.ts';
import type { Statuses } from './published-statuses.ts';
import { type ScheduledStatus, timeProblems } from './scheduled-status.ts';

/** The statuses that are to go out. Each is destroyed when its time has come, and published under another id. */
export class ScheduledStatuses {
  readonly #clock: Clock;
  readonly #media: MediaAttachments;
  readonly #statuses: Statuses;
  readonly #records = new Map<number, ScheduledStatus>();
  #lastId = 0;
  #disarm: () => void = () => undefined;

  constructor(clock: Clock, media: MediaAttachments, statuses: Statuses) {
    this.#clock = clock;
    this.#media = media;
    this.#statuses = statuses;
  }

  /** @throws ApiError 422 where the time breaks a rule */
  schedule(draft: Draft, scheduledAt: unknown): ScheduledStatus {
    const at = this.#check(draft.account, scheduledAt);
    this.#media.attach(draft.media);
    return this.#put({ id: ++this.#lastId, at, draft });
  }

  /** What a user has scheduled, id descending. */
  of(account: Account): ScheduledStatus[] {
    return [...this.#records.values()]
      .filter(({ draft }) => draft.account === account)
      .sort((left, right) => right.id - left.id);
  }

  /** @throws ApiError 404 where the user has none of this id */
  find(account: Account, id: string): ScheduledStatus {
    const record = this.#records.get(/^\d+$/.test(id) ? Number(id) : Number.NaN);
    if (record?.draft.account !== account) throw recordNotFound();
    return record;
  }

  /** @throws ApiError 422 where the time breaks a rule; the record is then as it was */
  reschedule(record: ScheduledStatus, scheduledAt: unknown): ScheduledStatus {
    return this.#put({ ...record, at: this.#check(record.draft.account, scheduledAt) });
  }

  cancel(record: ScheduledStatus): void {
    this.#records.delete(record.id);
    this.#media.release(record.draft.media);
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

  /** One timer, for whatever is due first. A clock may fire it early where the time is far off. */
  #arm(): void {
    this.#disarm();
    if (this.#records.size === 0) return;
    const first = Math.min(...[...this.#records.values()].map(({ at }) => at));
    this.#disarm = this.#clock.after(Math.max(0, first - this.#clock.now()), () => this.#publishDue());
  }

  #publishDue(): void {
    const due = [...this.#records.values()].filter(({ at }) => at <= this.#clock.now());
    for (const { id, draft } of due.sort((left, right) => left.at - right.at || left.id - right.id)) {
      this.#records.delete(id);
      this.#statuses.publish(draft);
    }
    this.#arm();
  }
}
