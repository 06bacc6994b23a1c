/** How much is measured. */
export interface Sizes {
  readonly rounds: number;
  /** for how long a server is sent requests before the clock starts: V8 needs three seconds */
  readonly warmUpSeconds: number;
  /** how long the acks of a server are measured */
  readonly ackSeconds: number;
  /** how many notifications a burst has, about */
  readonly burstEvents: number;
  /** jobs of a queue */
  readonly jobs: number;
  /** of which no two may run at once, in a queue on PostgreSQL: they wait for one another, and longer the more there are */
  readonly oneKeyJobs: number;
  /** events in the database of `loaded` and `files` */
  readonly events: number;
  /** events in the database of `stored` */
  readonly stored: number;
  /** events replayed to handlers */
  readonly replayed: number;
  /** events sent over HTTP from a recording */
  readonly sent: number;
  /** for how long each hostile shape is sent, in milliseconds */
  readonly hostileMs: number;
  /** for how long a snapshot is kept while queues go on */
  readonly snapshotSeconds: number;
  /** for how long events come at an even pace */
  readonly steadyMinutes: number;
  /** how long a service rests before its memory is read */
  readonly restMs: number;
}

/** How many connections the load comes over. */
export const CONNECTIONS = [1, 32, 128] as const;

export type Connections = (typeof CONNECTIONS)[number];

const FULL: Sizes = {
  rounds: 5,
  warmUpSeconds: 3,
  ackSeconds: 6,
  burstEvents: 50_000,
  jobs: 20_000,
  oneKeyJobs: 2000,
  events: 1_000_000,
  stored: 10_000_000,
  replayed: 200_000,
  sent: 100_000,
  hostileMs: 500,
  snapshotSeconds: 600,
  steadyMinutes: 15,
  restMs: 5000,
};

const QUICK: Sizes = {
  rounds: 1,
  warmUpSeconds: 1,
  ackSeconds: 1,
  burstEvents: 2000,
  jobs: 1000,
  oneKeyJobs: 200,
  events: 20_000,
  stored: 20_000,
  replayed: 20_000,
  sent: 2000,
  hostileMs: 200,
  snapshotSeconds: 20,
  steadyMinutes: 1,
  restMs: 500,
};

export interface SizeOptions {
  readonly quick: boolean;
  readonly rounds?: number;
  /** in every database that is filled */
  readonly events?: number;
  /** in every queue */
  readonly jobs?: number;
}

/** The sizes that the options ask for. */
export function sizesOf({ quick, rounds, events, jobs }: SizeOptions): Sizes {
  const sizes = quick ? QUICK : FULL;
  return {
    ...sizes,
    rounds: rounds ?? sizes.rounds,
    events: events ?? sizes.events,
    stored: events ?? sizes.stored,
    replayed: events ?? sizes.replayed,
    jobs: jobs ?? sizes.jobs,
    oneKeyJobs: jobs ?? sizes.oneKeyJobs,
  };
}
