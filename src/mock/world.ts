import { type Clock, systemClock } from '../base/clock.ts';
import { wholeSeconds } from '../base/duration.ts';
import { Poster } from '../base/poster.ts';
import { Courier } from './deliveries/courier.ts';
import { DeliveryLog } from './deliveries/delivery-log.ts';
import { Outbox, Postman } from './deliveries/postman.ts';
import type { MockOptions } from './mock-options.ts';
import { mockDefaults } from './mock-options.ts';
import { Pending } from './pending.ts';
import { RandomStreams } from './random.ts';
import { ScopedClock } from './scoped-clock.ts';
import { Attachments } from './simulation/attachments.ts';
import type { Emit } from './simulation/emit.ts';
import { LiveChannels } from './simulation/live-channels.ts';
import { MediaLibrary } from './simulation/media-library.ts';
import { SkewedClock } from './skewed-clock.ts';
import { WebhookRegistry } from './webhooks/webhook-registry.ts';

/** All of the mock but its HTTP APIs: the account's webhooks, its simulated sites, and the deliveries. */
export class World {
  readonly clock: Clock;
  readonly random: RandomStreams;
  readonly registry: WebhookRegistry;
  readonly media: MediaLibrary;
  readonly attachments: Attachments;
  readonly channels: LiveChannels;
  readonly courier: Courier;
  readonly log: DeliveryLog;
  readonly #scope: ScopedClock;
  readonly #outbox = new Outbox();
  readonly #pending = new Pending();
  readonly #poster: Pick<Poster, 'post' | 'close'>;

  constructor(options: MockOptions) {
    const { keepDeliveries, processingMs, timeoutMs, maxAttempts, retryBaseMs } = {
      ...mockDefaults,
      ...options,
    };
    const { clock = systemClock, seed, poster = new Poster() } = options;
    this.#poster = poster;
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
      poster: this.#poster,
      // In real time, a slow receiver of one webhook must not delay the others; on a virtual clock, one order is kept.
      queueOf: ({ webhook_id }) => (this.#isVirtual ? '' : webhook_id),
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
    const emit: Emit = (event, site_id, ids) => {
      const event_time = wholeSeconds(this.clock.now());
      this.courier.publish({ event, ...ids, site_id, event_time });
    };
    const simulated = { random: this.random.simulation, emit };
    this.media = new MediaLibrary({ ...shared, ...simulated, processingMs });
    this.attachments = new Attachments({ ...simulated, library: this.media });
    this.channels = new LiveChannels(simulated);
  }

  /** Resolves once every delivery has ended; on a virtual clock, once all that are due have been sent. */
  async settled(): Promise<void> {
    await (this.#isVirtual ? this.#outbox.idle() : this.#pending.none());
  }

  /** Whether an upload is being processed, or a delivery has not ended. */
  get isBusy(): boolean {
    return this.#pending.isAny;
  }

  reset(): void {
    this.#scope.cancelAll();
    this.courier.reset();
    this.media.clear();
    this.channels.clear();
    this.registry.clear();
    this.#pending.clear();
    this.random.reset();
  }

  close(): void {
    this.#poster.close();
  }

  get #isVirtual(): boolean {
    return !(this.clock instanceof SkewedClock);
  }
}
