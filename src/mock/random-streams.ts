import { Random } from './random.ts';

/** A source of randomness for each part, so that what one part draws does not change what another one gets. */
export class RandomStreams {
  readonly webhooks: Random;
  readonly simulation: Random;
  readonly faults: Random;
  readonly requests: Random;
  readonly statuses: Random;

  /** @param seed none: nobody can tell what comes */
  constructor(seed: number | undefined) {
    const root = new Random(seed);
    this.webhooks = root.stream();
    this.simulation = root.stream();
    this.faults = root.stream();
    this.requests = root.stream();
    this.statuses = root.stream();
  }

  /** Starts all of them over. */
  reset(): void {
    for (const stream of [this.webhooks, this.simulation, this.faults, this.requests, this.statuses]) {
      stream.reset();
    }
  }
}
