/**
 * Added to the event time of a replay, it is later than all times of receipt. Both are between the years 0 and 9999, and the
 * sum is a safe integer.
 */
export const REPLAYS_FROM = 2 ** 50;

/**
 * The place of an event among those of other lanes: first those that are no replays, in the order of receipt, then the others, in the
 * order of event times. So old work goes first, what has just come is at the end of what is live whatever its event time says,
 * and a replay is told apart.
 *
 * The place of a lane (`head`) is that of its oldest ready event that is no replay, or else that of its oldest ready event. So a replay
 * makes no live event of its resource wait for other resources: the lane keeps its place, and its older replays run at that. Where
 * more than `LOOKED_AT` events of a lane are ready and the oldest of them is a replay, it is that of a live one among so many newest ones.
 */
export function headOf(event: {
  readonly eventTime: number;
  readonly receivedAt: number;
  readonly replays: number;
}): number {
  return event.replays > 0 ? REPLAYS_FROM + event.eventTime : event.receivedAt;
}

/** How many events of a lane are looked at for one that is no replay. What has just come is among the newest. */
export const LOOKED_AT = 200;
