import { type Clock, systemClock } from '../base/clock.ts';
import { Courier } from './deliveries/courier.ts';
import { DeliveryLog } from './deliveries/delivery-log.ts';
import { Transport } from './deliveries/delivery-transport.ts';
import { Outbox } from './deliveries/outbox.ts';
import { Postman } from './deliveries/postman.ts';
import type { MockOptions } from './mock-options.ts';
import { mockDefaults } from './mock-options.ts';
import { Pending } from './pending.ts';
import { RandomStreams } from './random-streams.ts';
import { ScopedClock } from './scoped-clock.ts';
import { Simulation } from './simulation/simulation.ts';
import { SkewedClock } from './skewed-clock.ts';
import { wholeSeconds } from './timestamp.ts';
import { WebhookRegistry } from './webhooks/webhook-registry.ts';

/** Everything that the mock is made of but HTTP: the account's webhooks, its sites, and the post. */
export class World {
  readonly clock: Clock;
  readonly random: RandomStreams;
  readonly registry: WebhookRegistry;
  readonly simulation: Simulation;
  readonly courier: Courier;
  readonly log: DeliveryLog;
  readonly #scope: ScopedClock;
  readonly #outbox = new Outbox();
  readonly #pending = new Pending();
  readonly #transport = new Transport();

  constructor(options: MockOptions) {
    const { keepDeliveries, processingMs, timeoutMs, maxAttempts, retryBaseMs } = {
      ...mockDefaults,
      ...options,
    };
    const { clock = systemClock, seed } = options;
    this.clock = clock === systemClock ? new SkewedClock() : clock;
    this.random = new RandomStreams(seed);
    this.registry = new WebhookRegistry(this.clock, this.random.webhooks);
    this.log = new DeliveryLog(keepDeliveries);
    this.#scope = new ScopedClock(this.clock, () => this.#outbox.idle());
    const shared = { clock: this.#scope, pending: this.#pending };
    const postman = new Postman({
      ...shared,
      policy: { timeoutMs, maxAttempts, retryBaseMs },
      outbox: this.#outbox,
      transport: this.#transport,
      // In real time, a webhook whose receiver is slow does not hold up the others; on a virtual clock, order is all.
      laneOf: ({ webhook_id }) => (this.#isVirtual ? '' : webhook_id),
      record: (delivery) => this.log.update(delivery),
      onAttempt: options.onAttempt ?? (() => {}),
    });
    this.courier = new Courier({
      ...shared,
      random: this.random.faults,
      registry: this.registry,
      log: this.log,
      postman,
    });
    this.simulation = new Simulation({
      ...shared,
      processingMs,
      random: this.random.simulation,
      emit: (event, site_id, ids) => {
        const event_time = wholeSeconds(this.clock.now());
        this.courier.publish({ event, ...ids, site_id, event_time });
      },
    });
  }

  /** Resolves once every delivery that has begun is through: on a virtual clock, nothing else can happen by itself. */
  async settled(): Promise<void> {
    await (this.#isVirtual ? this.#outbox.idle() : this.#pending.none());
  }

  reset(): void {
    this.#scope.cancelAll();
    this.courier.reset();
    this.simulation.clear();
    this.registry.clear();
    this.#pending.clear();
    this.random.reset();
  }

  close(): void {
    this.#transport.close();
  }

  get #isVirtual(): boolean {
    return !(this.clock instanceof SkewedClock);
  }
}
