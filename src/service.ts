import type { Logger } from 'pino';
import { boundedServer } from './base/bounded-server.ts';
import type { MonotonicClock } from './base/clock.ts';
import { messageOf } from './base/errors.ts';
import { Listener } from './base/listener.ts';
import type { Config } from './config.ts';
import { configuredDispatcher } from './dispatch/configured.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import type { Handlers } from './dispatch/handler.ts';
import type { Admin } from './observer.ts';
import { createReceiver } from './receiver/app.ts';
import { Keyring } from './receiver/keyring.ts';
import { admitQuarantined, lossReporter } from './receiver/quarantine.ts';
import type { EventStore } from './store/event-store.ts';
import { openStore } from './store/open.ts';
import { keepFor } from './store/retention.ts';
import { watchSecrets } from './store/unreadable-secrets.ts';

export interface ServiceOptions {
  readonly config: Config;
  readonly handlers: Handlers;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  /** being opened already; closed with the service. Without it, DATABASE_URL is opened */
  readonly store?: Promise<EventStore> | undefined;
  /** a number in [0, 1), for the jitter of retries */
  readonly random: () => number;
  /** watches, and has a listener of its own */
  readonly admin?: Admin | undefined;
}

/** How soon an admission that failed is tried again. */
const ADMIT_AGAIN_MS = 5000;

/** A running receiver. */
export interface Service {
  readonly port: number;
  readonly store: EventStore;
  readonly dispatcher: Dispatcher;
  /** where the admin listener is, if there is one */
  readonly adminUrl?: string | undefined;
  /** Answers what is under way, lets handlers end, puts back what did not, and closes the store. */
  stop(): Promise<void>;
}

/**
 * Opens the store, starts handling what waits in it, and listens.
 * @throws KitError STORE_UNUSABLE if the database cannot be used
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, clock, admin } = options;
  const store = await (options.store ??
    openStore({
      url: config.DATABASE_URL,
      clock,
      secretsKey: config.SECRETS_KEY,
      onCommit: admin && ((ms) => admin.observer.committed(ms)),
    }));
  try {
    const service = await startOn(store, options);
    return admin ? await withAdmin(service, admin, options) : service;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function startOn(
  store: EventStore,
  { config, handlers, clock, log, random, admin }: ServiceOptions,
): Promise<Service> {
  const observer = admin?.observer;
  const dispatcher = configuredDispatcher(config, { store, handlers, clock, log, random, observer });
  const keyring = new Keyring({ store, clock, fallback: config.WEBHOOK_SECRET });
  let draining = false;
  const app = createReceiver({
    store,
    keyring,
    clock,
    log,
    webhookPath: config.WEBHOOK_PATH,
    bodyLimit: config.BODY_LIMIT,
    rejectLimit: config.REJECT_LIMIT,
    quarantineMaxBytes: config.QUARANTINE_MAX_BYTES,
    onQuarantineLost: lossReporter(clock, log),
    maxWaitingAcks: config.MAX_WAITING_ACKS,
    trustProxy: config.TRUST_PROXY,
    isDraining: () => draining,
    onAccepted: () => dispatcher.wakeSoon(),
    observer,
  });
  await keyring.start();
  const server = boundedServer(app, {
    bodyLimit: config.BODY_LIMIT,
    headersTimeoutMs: config.HEADERS_TIMEOUT_MS,
    requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
    keepAliveTimeoutMs: config.KEEP_ALIVE_TIMEOUT_MS,
    maxConnections: config.MAX_CONNECTIONS,
  });
  const listener = await Listener.start(server, {
    host: config.HOST,
    port: config.PORT,
    settings: 'HOST and PORT',
  }).catch((error) => {
    keyring.stop();
    throw error;
  });
  let admitted = Promise.resolve();
  const admit = (webhooks?: readonly string[]) => {
    // One after the other, so that nothing is admitted twice.
    admitted = admitted
      .then(() => admitQuarantined({ store, keyring, log, webhooks }))
      .then(
        () => dispatcher.wake(),
        (error) => {
          log.error({ error: messageOf(error) }, 'cannot admit from quarantine; trying again');
          clock.after(ADMIT_AGAIN_MS, () => draining || admit(webhooks));
        },
      );
  };
  keyring.onAdded = admit;
  admit(); // WEBHOOK_SECRET may be new
  dispatcher.start();
  const stopRetention =
    config.RETENTION_DAYS === undefined
      ? () => {}
      : keepFor({ store, clock, log, days: config.RETENTION_DAYS });

  const stopWatching = watchSecrets({ store, clock, log });

  const stop = async (): Promise<void> => {
    draining = true;
    stopRetention();
    stopWatching();
    await Promise.all([listener.close(config.SHUTDOWN_GRACE_MS), dispatcher.stop(config.SHUTDOWN_GRACE_MS)]);
    keyring.stop();
    await store.close();
  };
  return { port: listener.port, store, dispatcher, stop };
}

async function withAdmin(service: Service, admin: Admin, { config, clock, log }: ServiceOptions) {
  const { store, dispatcher } = service;
  try {
    const listener = await admin.start({ store, config, clock, log, wake: () => dispatcher.wake() });
    const stop = async (): Promise<void> => {
      await listener.stop();
      await service.stop();
    };
    return { ...service, adminUrl: listener.url, stop };
  } catch (error) {
    await service.stop();
    throw error;
  }
}
