import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { boundedServer } from './base/bounded-server.ts';
import type { MonotonicClock } from './base/clock.ts';
import { Listener } from './base/listener.ts';
import type { Config } from './config.ts';
import { configuredDispatcher } from './dispatch/configured.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import { notStored } from './dispatch/not-stored.ts';
import { appPages, openApp, type ReadyApp } from './dispatch/open-app.ts';
import { type Admin, harmless } from './observer.ts';
import { Admissions } from './receiver/admissions.ts';
import { configuredReceiver } from './receiver/configured.ts';
import { Keyring, keysBy } from './receiver/keyring.ts';
import { LossReport } from './receiver/loss-report.ts';
import type { EventStore } from './store/event-store.ts';
import { openForServer } from './store/open.ts';
import { isReachable } from './store/predictable-secrets.ts';
import { keepFor } from './store/retention.ts';
import { watchClock } from './store/watch-clock.ts';
import { watchSecrets } from './store/watch-secrets.ts';

export interface ServiceOptions {
  readonly config: Config;
  /** the handlers, and what they share */
  readonly app: ReadyApp;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  /** being opened already; closed with the service. Without it, DATABASE_URL is opened */
  readonly store?: Promise<EventStore> | undefined;
  /** a number in [0, 1), for the jitter of retries */
  readonly random: () => number;
  /** watches, and has a listener of its own */
  readonly admin?: Admin | undefined;
}

/** A running receiver. */
export interface Service {
  readonly port: number;
  readonly store: EventStore;
  readonly dispatcher: Dispatcher;
  /** where the admin listener is, if there is one */
  readonly adminUrl?: string | undefined;
  /** the paths of the app's pages, below the admin listener's `/app` */
  readonly pages: readonly string[];
  /**
   * Answers requests under way, lets handlers end, aborts the others and releases what then ends, and closes the store.
   * @throws KitError STORE_UNAVAILABLE, when all that is done, if results could not be stored
   */
  stop(): Promise<void>;
}

/**
 * Opens the store, listens, handles the events that wait, and opens the admin listener. The parts end in reverse order, at
 * a stop as well as when a later part cannot begin.
 * @throws KitError STORE_UNUSABLE if the database cannot be used, LISTEN_FAILED if an address is not to be had
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, app, clock, log, random, admin } = options;
  const observer = harmless(() => admin?.observer, log, clock);
  const ends = new AsyncDisposableStack();
  try {
    const store = await (options.store ??
      openForServer(config, { clock, log, onCommit: observer.committed }));
    ends.defer(() => store.close());

    const keyring = new Keyring({ store, clock, ...keysBy(config) });
    ends.defer(() => keyring.stop());
    await keyring.start();

    const opened = await openApp(app, { log, clock });
    ends.defer(() => opened.close()); // after the last handler
    const pages = await appPages(app, { opened, store, log, clock });

    const dispatcher = configuredDispatcher(config, {
      store,
      handlers: app.handlers,
      app: opened.value,
      clock,
      log,
      random,
      observer,
    });
    const losses = new LossReport({ store, clock, log });
    ends.defer(() => losses.stop());
    let isDraining = false;
    const receiver = configuredReceiver(config, {
      store,
      keyring,
      clock,
      log,
      observer,
      onQuarantineLost: (lost, isCounted) => losses.add(lost, isCounted),
      isDraining: () => isDraining,
    });
    const listener = await listen(receiver, config);
    const graceMs = config.SHUTDOWN_GRACE_MS;
    ends.defer(async () => {
      await Promise.all([listener.close(graceMs), dispatcher.stop(graceMs)]);
      if (dispatcher.unstored > 0) throw notStored(dispatcher.unstored);
    });

    const admissions = new Admissions({
      store,
      keyring,
      clock,
      log,
      onFound: (webhooks) => observer.secretsFound(webhooks),
      onEnd: () => dispatcher.wake(),
    });
    ends.defer(() => admissions.stop());
    admissions.start(); // WEBHOOK_SECRET may be new
    dispatcher.start();
    ends.defer(store.watch(() => dispatcher.wakeSoon()));

    if (config.RETENTION_DAYS !== undefined)
      ends.defer(keepFor({ store, clock, log, days: config.RETENTION_DAYS }));
    ends.defer(watchClock({ store, clock, log }));
    ends.defer(watchSecrets({ store, clock, log, isReachable: isReachable(config) }));
    ends.defer(() => {
      isDraining = true;
    });

    const inspector = await admin?.start({
      store,
      config,
      clock,
      log,
      pages,
      wake: () => dispatcher.wake(),
    });
    ends.defer(() => inspector?.stop());
    return {
      port: listener.port,
      store,
      dispatcher,
      adminUrl: inspector?.url,
      pages: pages?.paths ?? [],
      stop: () => ends.disposeAsync(),
    };
  } catch (error) {
    await ends.disposeAsync();
    throw error;
  }
}

function listen(app: RequestListener, config: Config): Promise<Listener> {
  const server = boundedServer(app, {
    bodyLimit: config.BODY_LIMIT,
    headersTimeoutMs: config.HEADERS_TIMEOUT_MS,
    requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
    keepAliveTimeoutMs: config.KEEP_ALIVE_TIMEOUT_MS,
    maxConnections: config.MAX_CONNECTIONS,
  });
  return Listener.start(server, { host: config.HOST, port: config.PORT, settings: 'HOST and PORT' });
}
