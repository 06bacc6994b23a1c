import { createServer, type RequestListener } from 'node:http';
import express from 'express';
import { Listener } from '../base/listener.ts';
import type { JsonObject } from '../notification/json.ts';
import { controlRoutes } from './control-routes.ts';
import { type Faults, type FaultsChange, faultsSchema } from './deliveries/delivery-faults.ts';
import type { Delivery, DeliveryFilter } from './deliveries/delivery-log.ts';
import { MockError } from './mock-error.ts';
import { type MockOptions, mockDefaults } from './mock-options.ts';
import { RateLimit } from './rate-limit.ts';
import { parse } from './request-input.ts';
import type { ThumbnailView, TrackView } from './simulation/attachments.ts';
import type { ChannelView } from './simulation/live-channels.ts';
import type { MediaView } from './simulation/media-library.ts';
import type {
  ChannelInput,
  MediaChange,
  MediaInput,
  ThumbnailInput,
  TrackInput,
} from './simulation/simulation-inputs.ts';
import { isAdvanceable } from './skewed-clock.ts';
import { createStatusesApi, type StatusesApi } from './statuses/index.ts';
import {
  type CreatedWebhook,
  type MetadataInput,
  metadataSchema,
  type Webhook,
} from './webhooks/webhook-registry.ts';
import { webhooksApi } from './webhooks/webhooks-api.ts';
import { World } from './world.ts';

/**
 * The mock provider: the provider's APIs over HTTP, simulated sites, and signed deliveries. Its verbs do the same as the
 * control routes. The mock sends notifications by itself; `settled()` resolves once it has.
 * @example
 * const mock = await MockProvider.start({ port: 0, clock: new VirtualClock() });
 * mock.createWebhook({ name: 'all', webhook_url: url, events: ['media_created'], site_ids: ['site0001'] });
 * mock.createMedia({ site_id: 'site0001' });
 * await mock.settled();
 */
export class MockProvider {
  /** The Authorization that the webhooks API accepts. */
  readonly apiSecret: string;
  readonly #world: World;
  readonly #rateLimit: RateLimit;
  readonly #statuses: StatusesApi;
  readonly #names: readonly string[];
  #listener: Listener | undefined;
  #url = '';
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(options: MockOptions) {
    this.apiSecret = options.apiSecret ?? mockDefaults.apiSecret;
    this.#names = options.names ?? mockDefaults.names;
    this.#world = new World(options);
    const { clock, random } = this.#world;
    this.#statuses = createStatusesApi({
      clock,
      random: random.statuses,
      requests: random.requests,
      baseUrl: () => this.#url,
    });
    this.#rateLimit = new RateLimit({
      clock,
      limit: options.rateLimit ?? mockDefaults.rateLimit,
      windowMs: 60_000,
      begin: 'at first request',
    });
  }

  /** Starts one that listens. @throws KitError LISTEN_FAILED if the port is taken */
  static async start(options: MockOptions = {}): Promise<MockProvider> {
    const mock = new MockProvider(options);
    await mock.#listen(options.port ?? mockDefaults.port, options.host ?? mockDefaults.host);
    return mock;
  }

  /** Makes one that listens nowhere: `app` answers its requests. Its addresses begin with `http://mock.test`. */
  static inProcess(options: MockOptions = {}): MockProvider {
    const mock = new MockProvider(options);
    mock.#url = 'http://mock.test';
    return mock;
  }

  /** Where it listens: `http://127.0.0.1:4010`. */
  get url(): string {
    return this.#url;
  }

  /** The time on its clock, in milliseconds since the epoch. */
  now(): number {
    return this.#world.clock.now();
  }

  /** Registers a webhook. @returns it with its secret, which is not shown again @throws MockError 400 */
  createWebhook(metadata: MetadataInput): CreatedWebhook {
    return this.#world.registry.create(parse(metadataSchema, metadata));
  }

  /** In order of creation. */
  listWebhooks(): Webhook[] {
    return this.#world.registry.list();
  }

  /** Notifications from before are still delivered. @throws MockError 404 */
  deleteWebhook(id: string): void {
    this.#world.registry.delete(id);
  }

  /** A first upload, which is then processed. @throws MockError 400 if the id is taken */
  createMedia(media: MediaInput): MediaView {
    return this.#world.media.create(media);
  }

  /** @throws MockError 404 */
  updateMedia(id: string, change: MediaChange = {}): MediaView {
    return this.#world.media.update(id, change);
  }

  /** A new original for a media, which is then processed. @throws MockError 404 */
  reuploadMedia(id: string): MediaView {
    return this.#world.media.reupload(id);
  }

  /** Moves the publish start to now. @throws MockError 404 */
  publishMedia(id: string): MediaView {
    return this.#world.media.publish(id);
  }

  /** @throws MockError 404 */
  deleteMedia(id: string): void {
    this.#world.media.delete(id);
  }

  /** @throws MockError 404, 400 */
  createThumbnail(mediaId: string, thumbnail: ThumbnailInput = {}): ThumbnailView {
    return this.#world.attachments.createThumbnail(mediaId, thumbnail);
  }

  /** @throws MockError 404 */
  deleteThumbnail(mediaId: string, id: string): void {
    this.#world.attachments.deleteThumbnail(mediaId, id);
  }

  /** @throws MockError 404, 400 */
  createTrack(mediaId: string, track: TrackInput = {}): TrackView {
    return this.#world.attachments.createTrack(mediaId, track);
  }

  /** @throws MockError 404 */
  deleteTrack(mediaId: string, id: string): void {
    this.#world.attachments.deleteTrack(mediaId, id);
  }

  /** A live channel, idle at first. @throws MockError 400 if the id is taken */
  createChannel(channel: ChannelInput): ChannelView {
    return this.#world.channels.create(channel);
  }

  /** @throws MockError 404 */
  activateChannel(id: string): ChannelView {
    return this.#world.channels.enter(id, 'active');
  }

  /** @throws MockError 404 */
  idleChannel(id: string): ChannelView {
    return this.#world.channels.enter(id, 'idle');
  }

  /**
   * Sends any payload as it is, to the webhook that its `webhook_id` names, else to all that match.
   * @throws MockError 404 if there is no such webhook
   */
  sendNotification(payload: JsonObject): Delivery[] {
    return this.#world.courier.publish(payload);
  }

  /** The log, in order of creation. */
  deliveries(filter: DeliveryFilter = {}): Delivery[] {
    return this.#world.log.find(filter);
  }

  /** Sends the notification of a delivery again, without faults. @throws MockError 404 */
  redeliver(id: string): Delivery {
    return this.#world.courier.redeliver(id);
  }

  /** Sets some of the faults' probabilities. @returns all of them @throws MockError 400 */
  setFaults(change: FaultsChange): Faults {
    const given = Object.entries(parse(faultsSchema, change)).filter(([, value]) => value !== undefined);
    this.#world.courier.faults = { ...this.#world.courier.faults, ...Object.fromEntries(given) };
    return this.#world.courier.faults;
  }

  /**
   * Moves the clock forward and fires the timers that fall due, in order; one call after the other.
   * @throws MockError 409 if the mock was started on a clock that cannot be moved forward
   */
  advance(ms: number): Promise<void> {
    const { clock } = this.#world;
    if (!isAdvanceable(clock))
      return Promise.reject(new MockError(409, 'this clock cannot be moved forward'));
    const turn = this.#turn.then(() => clock.advance(ms));
    this.#turn = turn.catch(() => {}); // the caller gets the error
    return turn;
  }

  /**
   * On a virtual clock: resolves once all deliveries that are due have been sent. In real time: once every upload is
   * processed and every delivery has ended, retries included; it does not wait for publish starts in the future.
   */
  settled(): Promise<void> {
    return this.#world.settled();
  }

  /** Whether an upload is being processed, or a delivery has not ended, retries included. */
  get isBusy(): boolean {
    return this.#world.isBusy;
  }

  /** Back to the start: no webhooks, media or faults, and the seed from its beginning. The clock stays. */
  reset(): void {
    this.#world.reset();
    this.#statuses.reset();
    this.#rateLimit.clear();
  }

  /** Stops listening and delivering. */
  async close(): Promise<void> {
    this.reset();
    this.#world.close();
    await this.#listener?.stop();
  }

  async #listen(port: number, host: string): Promise<void> {
    const server = createServer(this.app(host));
    const settings = host === mockDefaults.host ? 'MOCK_PORT' : '--host and MOCK_PORT';
    this.#listener = await Listener.start(server, { host, port, settings });
    this.#url = this.#listener.url;
  }

  /** Answers all of its requests. @param host by which it is asked for */
  app(host: string): RequestListener {
    const { registry, random } = this.#world;
    const own = { host, names: this.#names };
    const webhooks = webhooksApi({
      own,
      registry,
      rateLimit: this.#rateLimit,
      apiSecret: this.apiSecret,
      random: random.requests,
      baseUrl: () => this.#url,
    });
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag'); // the provider's services know no conditional requests
    app.use('/_mock', controlRoutes(this, own));
    app.use('/v2', webhooks);
    app.use(this.#statuses.router);
    app.use((_request, response) => {
      response.status(404).json({ error: 'not found' });
    });
    return app;
  }
}
