import type { Clock } from '../../base/clock.ts';
import type { Account } from './accounts.ts';
import { checkRules, recordOf } from './answers.ts';
import { type MediaAttachments, mediaEntity } from './media-attachments.ts';
import type { NewStatus } from './new-status.ts';
import type { PublishedStatuses } from './published-statuses.ts';

/** How far ahead a status must be scheduled, in milliseconds: this or more. */
const MIN_LEAD = 300_000;
/** How many statuses a user may have scheduled in all, and on one day of the UTC calendar. */
const TOTAL_LIMIT = 300;
const DAILY_LIMIT = 25;
const EXCEEDED = 'You have exceeded the limit of';

/** A scheduled status. */
export interface ScheduledStatus extends NewStatus {
  readonly id: number;
  /** When it is published, in milliseconds since the epoch. */
  readonly at: number;
}

/** The scheduled statuses. At its time, each is removed here and published under another id. */
export function scheduledStatuses(clock: Clock, media: MediaAttachments, statuses: PublishedStatuses) {
  const records = new Map<number, ScheduledStatus>();
  /** for each record, cancels the timer of its publication */
  const timers = new Map<number, () => void>();
  let lastId = 0;

  /** The scheduled statuses of a user, id descending. */
  const of = (author: Account): ScheduledStatus[] => {
    const own = [...records.values()].filter(({ account }) => account === author);
    return own.sort((left, right) => right.id - left.id);
  };

  const isTooSoon = (at: number) => at < clock.now() + MIN_LEAD;

  /**
   * The rules are in the provider's words and order. The same hold on creation and on change, where the status that is
   * changed counts like any other, as it does in the provider's code.
   */
  const checked = (author: Account, scheduledAt: unknown): number => {
    const at = parseMoment(scheduledAt);
    const scheduled = of(author);
    const today = scheduled.filter((other) => dayOf(other.at) === dayOf(at));
    checkRules([
      [Number.isNaN(at), 'Scheduled at is not an ISO 8601 date and time'],
      [isTooSoon(at), 'Scheduled at The scheduled date must be in the future'],
      [scheduled.length >= TOTAL_LIMIT, `${EXCEEDED} ${TOTAL_LIMIT} scheduled posts`],
      [today.length >= DAILY_LIMIT, `${EXCEEDED} ${DAILY_LIMIT} scheduled posts for today`],
    ]);
    return at;
  };

  const take = ({ id }: ScheduledStatus) => {
    timers.get(id)?.();
    timers.delete(id);
    records.delete(id);
  };
  const put = (record: ScheduledStatus): ScheduledStatus => {
    take(record);
    const publish = () => {
      take(record);
      statuses.publish(record);
    };
    records.set(record.id, record);
    timers.set(record.id, clock.after(record.at - clock.now(), publish));
    return record;
  };

  return {
    of,

    /** Whether a time is less than five minutes ahead, or past. */
    isTooSoon: (scheduledAt: unknown) => isTooSoon(parseMoment(scheduledAt)),

    /** @throws ApiError 404 where the user has none of this id */
    find: (author: Account, id: string) => recordOf(records, id, ({ account }) => account === author),

    /** @throws ApiError 422 where the time breaks a rule */
    schedule(content: NewStatus, scheduledAt: unknown): ScheduledStatus {
      const at = checked(content.account, scheduledAt);
      media.attach(content.media, 'scheduled');
      return put({ ...content, id: ++lastId, at });
    },

    /** @throws ApiError 422 where the time breaks a rule; the record is then as it was */
    reschedule: (record: ScheduledStatus, scheduledAt: unknown) =>
      put({ ...record, at: checked(record.account, scheduledAt) }),

    cancel(record: ScheduledStatus): void {
      take(record);
      media.release(record.media);
    },
  };
}

/** A scheduled status as the API shows it. */
export function scheduledStatusEntity({ id, at, params, media }: ScheduledStatus) {
  const scheduled_at = new Date(at).toISOString();
  return { id: String(id), scheduled_at, params, media_attachments: media.map(mediaEntity) };
}

const ISO_8601 =
  /^(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?\s*(?:(Z|UTC)|([+-]\d\d)(?::?(\d\d))?)?)?$/i;

/**
 * Reads an ISO 8601 date, or date and time. A date alone is midnight; without a zone it is UTC.
 * @returns milliseconds since the epoch; NaN if it is not such a date, or not a day of the calendar
 */
function parseMoment(value: unknown): number {
  const [, year, month, day = '', hour = '00', minute = '00', second = '00', fraction = '', , ...zone] =
    (typeof value === 'string' && ISO_8601.exec(value.trim())) || [];
  const [hours = '+00', minutes = '00'] = zone;
  const date = `${year}-${month}-${day}`;
  if (new Date(`${date}T00:00Z`).getUTCDate() !== Number(day)) return Number.NaN; // 30 February is 2 March
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  return Date.parse(`${date}T${hour}:${minute}:${second}.${milliseconds}${hours}:${minutes}`);
}

/** The day of the UTC calendar that a moment falls on. */
function dayOf(ms: number): number {
  return Math.floor(ms / 86_400_000);
}
