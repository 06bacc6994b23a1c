import { Random } from './random.ts';

/** A source of randomness for each part, so that what one part draws does not change what another one gets. */
export class RandomStreams {
  readonly webhooks: Random;
  readonly simulation: Random;
  readonly faults: Random;
  readonly requests: Random;
  readonly statuses: Random;

  constructor(seed: number) {
    const root = new Random(seed);
    const stream = () => new Random(root.int(2 ** 32));
    this.webhooks = stream();
    this.simulation = stream();
    this.faults = stream();
    this.requests = stream();
    this.statuses = stream();
  }

  /** Starts all of them over. */
  reset(): void {
    for (const stream of [this.webhooks, this.simulation, this.faults, this.requests, this.statuses]) {
      stream.reset();
    }
  }
}
