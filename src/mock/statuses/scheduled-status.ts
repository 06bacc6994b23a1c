import { mediaEntity } from './media-attachments.ts';
import { dayOf, formatMoment } from './moments.ts';
import type { Draft } from './new-status.ts';

/** How far ahead a status must be scheduled, in milliseconds: more than this. */
export const MIN_LEAD = 300_000;
/** How many statuses a user may have scheduled in all. */
export const TOTAL_LIMIT = 300;
/** How many statuses a user may have scheduled on one day of the UTC calendar. */
export const DAILY_LIMIT = 25;

/** A status that is to go out. */
export interface ScheduledStatus {
  readonly id: number;
  /** When it goes out, in milliseconds since the epoch. */
  readonly at: number;
  readonly draft: Draft;
}

/** A scheduled status as the API shows it. */
export function scheduledStatusEntity({ id, at, draft }: ScheduledStatus) {
  return {
    id: String(id),
    scheduled_at: formatMoment(at),
    params: draft.params,
    media_attachments: draft.media.map(mediaEntity),
  };
}

/**
 * Which rules a time breaks, in the provider's words and order. The same rules hold on creation and on change, where the
 * status that is changed counts like any other, as it does in the provider's code.
 * @param at the time asked for, undefined where it could not be read
 * @param scheduled all that the user has scheduled
 */
export function timeProblems(at: number | undefined, scheduled: readonly ScheduledStatus[], now: number) {
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
