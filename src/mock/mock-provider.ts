import { once } from 'node:events';
import http, { type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import express from 'express';
import { type Listener, listen } from '../base/http-server.ts';
import { post } from '../base/post.ts';
import { MockClock } from './clock.ts';
import { controlRoutes } from './control-routes.ts';
import { createDeliveries } from './deliveries.ts';
import { drawRefusal, type FaultsChange } from './faults.ts';
import { type MockOptions, mockDefaults, type Settings } from './mock-options.ts';
import { randomStreams } from './random.ts';
import { rateLimit } from './requests.ts';
import { createSimulation, type Simulation } from './simulation.ts';
import { type Behaviour, createStatusesApi } from './statuses/index.ts';
import { createWebhooks, type MetadataInput } from './webhooks.ts';
import { webhooksApi } from './webhooks-api.ts';

/**
 * The mock provider: the provider's APIs over HTTP, simulated sites, and signed deliveries. Its verbs do the same as the
 * control routes. The mock sends notifications by itself; `settled()` resolves once it has.
 */
export type MockProvider = Simulation & ReturnType<typeof createProvider>;

/** Where it is without a port. */
const LOCAL_HOST = 'mock.test';

/** @param listener where it listens, once it does */
function createProvider(options: MockOptions, listener: () => Listener | undefined = () => undefined) {
  const settings: Settings = { ...mockDefaults, poster: { post }, onAttempt() {}, ...options };
  const clock = new MockClock(options.clock);
  const random = randomStreams(options.seed);
  const baseUrl = () => listener()?.url ?? `http://${LOCAL_HOST}`;
  const webhooks = createWebhooks({ ...settings, clock, random: random.webhooks });
  const deliveries = createDeliveries({ ...settings, clock, random: random.faults, webhooks });
  const sites = createSimulation({ ...settings, clock, random: random.simulation, deliveries });
  const statuses = createStatusesApi({ clock, random: random.statuses, baseUrl });
  const limit = rateLimit({ clock, limit: settings.rateLimit, windowMs: 60_000 });

  /** without a port; made when it is first asked: it has some sixty routes */
  let local: LocalServer | undefined;

  const reset = () => {
    clock.cancelAll();
    for (const part of [sites, deliveries, webhooks, limit, statuses]) part.reset();
    for (const stream of Object.values(random)) stream.reset();
  };

  return {
    ...sites,
    ...deliveries,
    /** Back to the start: no webhooks, media or faults, and the seed from its beginning. The clock stays. */
    reset,
    /** Registers a webhook. @returns it with its secret, which is not shown again @throws MockError 400 */
    createWebhook: (metadata: MetadataInput) => webhooks.create({ metadata }),
    /** In order of creation. */
    listWebhooks: webhooks.list,
    /** Notifications from before are still delivered. @throws MockError 404 */
    deleteWebhook: webhooks.delete,
    /** Sets some of the faults' probabilities. @returns all of them @throws MockError 400 */
    setFaults: (some: FaultsChange) => deliveries.setFaults(some),

    /** How statuses are scheduled. @throws MockError 400 */
    setStatuses: (as: Behaviour) => statuses.behave(as),

    /** The Authorization that the webhooks API accepts. */
    apiSecret: settings.apiSecret,
    /** Where it listens: `http://127.0.0.1:4010`. */
    get url(): string {
      return baseUrl();
    },

    /** The time on its clock, in milliseconds since the epoch. */
    now: () => clock.now(),

    /** Moves the clock forward and fires the timers that fall due, in order; one call after the other. */
    advance: (ms: number) => clock.advance(ms),

    /**
     * On a virtual clock: resolves once all deliveries that are due have been sent. In real time: once every upload is
     * processed and every delivery has ended, retries included; it does not wait for publish starts in the future.
     */
    settled: () => clock.settled(),

    /** Whether an upload is being processed, or a delivery has not ended, retries included. */
    get isBusy(): boolean {
      return clock.isBusy;
    },

    /** Stops listening and delivering. */
    async close(): Promise<void> {
      reset();
      await listener()?.stop();
    },

    /** Answers a request for `http://mock.test/...`, without a port. */
    fetch(url: string, request?: RequestInit): Promise<Response> {
      local ??= new LocalServer(this.app(LOCAL_HOST));
      return local.fetch(url, request);
    },

    /** Answers all of its requests. @param host by which it is asked for */
    app(host: string): RequestListener {
      const own = { host, names: settings.names };
      const { apiSecret } = settings;
      const refusal = (isReading: boolean) =>
        drawRefusal(deliveries.setFaults({}), random.refusals, isReading);
      return express()
        .disable('x-powered-by')
        .disable('etag') // the provider's services know no conditional requests
        .use('/_mock', controlRoutes({ sites, deliveries, statuses, clock, reset, own }))
        .use('/v2', webhooksApi({ ...sites, webhooks, rateLimit: limit, apiSecret, baseUrl, own, refusal }))
        .use(statuses.router)
        .use((_request, response) => {
          response.status(404).json({ error: 'not found' });
        });
    },
  };
}

/**
 * @example
 * const mock = await MockProvider.start({ port: 0, clock: new VirtualClock() });
 * mock.createWebhook({ name: 'all', webhook_url: url, events: ['media_created'], site_ids: ['site0001'] });
 * mock.createMedia({ site_id: 'site0001' });
 * await mock.settled();
 */
export const MockProvider = {
  /** Starts one that listens. @throws KitError LISTEN_FAILED if the port is taken */
  async start(options: MockOptions = {}): Promise<MockProvider> {
    const { port, host } = { ...mockDefaults, ...options };
    const settings = host === mockDefaults.host ? 'MOCK_PORT' : '--host and MOCK_PORT';
    let listener: Listener | undefined;
    const mock = createProvider(options, () => listener);
    listener = await listen(http.createServer(mock.app(host)), { host, port, settings });
    return mock;
  },

  /** Makes one that listens nowhere: `fetch` answers its requests. Its addresses begin with `http://mock.test`. */
  inProcess: (options: MockOptions = {}): MockProvider => createProvider(options),
};

/** An HTTP server without a port: its requests come over pairs of streams, and everything else of HTTP is as ever. */
export class LocalServer {
  readonly #server: http.Server;

  /** @param maxHeaderSize in bytes */
  constructor(listener: RequestListener, maxHeaderSize: number = http.maxHeaderSize) {
    this.#server = http.createServer({ maxHeaderSize }, listener);
  }

  /** As `fetch` does, with a text as body. @throws Error if the server closes the connection without an answer */
  async fetch(url: string, { method = 'GET', headers, body }: RequestInit = {}): Promise<Response> {
    const [near, far] = duplexPair();
    this.#server.emit('connection', far);
    const request = http.request(url, {
      method,
      headers: { ...Object.fromEntries(new Headers(headers)), connection: 'close' },
      createConnection: () => near as Socket,
    });
    request.end(body ?? undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const answer = await text(response);
    const given = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
    const init = { status: response.statusCode ?? 0, headers: Object.fromEntries(given) };
    return new Response(answer === '' ? null : answer, init);
  }
}
