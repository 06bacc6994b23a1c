/**
 * Added to the event time of a replay, it is later than all times of receipt. Both are between the years 0 and 9999, and the
 * sum is a safe integer.
 */
export const REPLAYS_FROM = 2 ** 50;

/**
 * The place of a lane among the others, by its oldest ready event: first those whose event is no replay, in the order of receipt, then
 * those whose event is one, in the order of event times. So old work goes first, what has just come is at the end of what is live
 * whatever its event time says, and a replay is told apart.
 */
export function headOf(event: {
  readonly eventTime: number;
  readonly receivedAt: number;
  readonly replays: number;
}): number {
  return event.replays > 0 ? REPLAYS_FROM + event.eventTime : event.receivedAt;
}
