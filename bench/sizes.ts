/** How much is measured. Times are seconds. */
export interface Sizes {
  readonly ackRounds: number;
  /** before the clock starts: after 3 s, the compiler of V8 still takes a seventh of the processor */
  readonly warmUp: number;
  /** of each load */
  readonly load: number;
  readonly backlogRounds: number;
  /** events, and jobs of the queue beside */
  readonly backlog: number;
  /** events of one media, where each waits for the one before */
  readonly hot: number;
  readonly starts: number;
  /** before the memory of a service that does nothing is read */
  readonly rest: number;
  /** for how long events come at an even pace: half of the goal's eight minutes, so that all is measured within 15 */
  readonly steady: number;
}

/** Some 14 minutes. */
export const FULL: Sizes = {
  ackRounds: 2,
  warmUp: 20,
  load: 4,
  backlogRounds: 2,
  backlog: 100_000,
  hot: 4000,
  starts: 5,
  rest: 5,
  steady: 240,
};

/** Some 3 minutes. */
export const QUICK: Sizes = {
  ackRounds: 1,
  warmUp: 2,
  load: 3,
  backlogRounds: 1,
  backlog: 20_000,
  hot: 1000,
  starts: 3,
  rest: 3,
  steady: 20,
};
