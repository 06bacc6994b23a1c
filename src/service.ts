import { AsyncResource } from 'node:async_hooks';
import { pause } from './base/clock.ts';
import { boundedServer, listen } from './base/http-server.ts';
import { connectionsWithin } from './config.ts';
import { appPages, openApp, type ReadyApp } from './dispatch/open-app.ts';
import { dispatchersOf } from './dispatch/subscribers.ts';
import type { Admin, Parts } from './observer.ts';
import { createReceiver, type Phase } from './receiver/app.ts';
import { keyringOf } from './receiver/keyring.ts';
import { keepAdmitting, quarantineOf } from './receiver/quarantine.ts';
import { withReconcile } from './reconcile/index.ts';
import type { EventStore } from './store/event-store.ts';
import { keepFor } from './store/queue/prune.ts';
import { tracingOf } from './tracing/index.ts';

export interface ServiceOptions extends Pick<Parts, 'config' | 'clock' | 'log' | 'isDev'> {
  /** the handlers, and what they share */
  readonly app: ReadyApp;
  /** opened by the caller, and perhaps not ready yet; the service closes it */
  readonly store: Promise<EventStore>;
  /** what watches the service, with a listener of its own */
  readonly admin?: Admin | undefined;
}

const FEWER =
  'fewer connections than MAX_CONNECTIONS: this process may not open enough files; raise its limit (ulimit -n)';

/** A running receiver. */
export type Service = Awaited<ReturnType<typeof startService>>;

/**
 * Listens, handles the events that wait, and opens the admin listener. The parts end in reverse order, at a stop as well
 * as when a later part cannot begin.
 * @throws KitError STORE_UNUSABLE if the database cannot be used, LISTEN_FAILED if an address cannot be listened on
 */
export async function startService(options: ServiceOptions) {
  const { config, clock, log, admin, isDev } = options;
  await using ends = new AsyncDisposableStack();
  const store = await options.store;
  ends.defer(() => store.close());
  const parts = { config, store, clock, log, isDev, observer: admin?.observer };

  const keyring = keyringOf(parts);
  ends.defer(await keyring.start());
  const quarantine = quarantineOf(parts, keyring);
  ends.defer(quarantine.stop);

  const opened = await openApp(options.app, parts);
  ends.defer(() => opened.close()); // after the last handler
  const pages = await appPages(opened);
  const complete = { ...opened, ...withReconcile(opened, parts) };
  const tracing = await tracingOf();
  const app = tracing?.tracedApp(complete) ?? complete;
  const dispatcher = await dispatchersOf({ ...parts, app, random: Math.random });
  // Before the dispatcher, so that it ends after it: the last report counts the handlers that end during a stop.
  const { kinds, running } = dispatcher;
  if (admin) ends.defer(admin.keepReporting({ ...parts, kinds, running }));

  let phase: Phase = 'open';
  const around = tracing?.tracedRecord;
  const receiver = createReceiver({ ...parts, keyring, quarantine, phase: () => phase, around });
  const { HOST: host, PORT: port, MAX_CONNECTIONS: wanted, SHUTDOWN_GRACE_MS: graceMs } = config;
  const connections = connectionsWithin(wanted);
  if (connections < wanted) log.warn({ connections, wanted }, FEWER);
  const server = boundedServer(receiver, { ...config, MAX_CONNECTIONS: connections });
  const listener = await listen(server, { host, port, settings: 'HOST and PORT' });
  ends.defer(async () => {
    const closed = listener.close(graceMs);
    await Promise.all([closed, dispatcher.stop(graceMs).finally(() => closed)]);
  });

  // The work that a request wakes goes on long after it, and is no part of its trace.
  const [came, wake] = [AsyncResource.bind(dispatcher.came), AsyncResource.bind(dispatcher.wake)];

  store.queue.onRecorded(came);
  dispatcher.start();
  ends.defer(keepAdmitting(parts, keyring));
  const days = config.RETENTION_DAYS;
  if (days !== undefined) ends.defer(keepFor({ ...parts, days }));

  const inspector = await admin?.start({ ...parts, port: listener.port, pages, wake });
  ends.defer(() => inspector?.stop());
  ends.defer(async () => {
    phase = 'draining';
    if (config.DRAIN_MS > 0) await pause(clock, config.DRAIN_MS);
    phase = 'closed';
  });
  const started = ends.move();
  return {
    port: listener.port,
    store,
    dispatcher,
    /** where the admin listener is, if there is one */
    adminUrl: inspector?.url,
    /**
     * Answers requests under way, lets handlers end, aborts those that do not, releases their events, and closes the store.
     * @throws KitError STORE_UNAVAILABLE, at the end, if results could not be stored
     */
    stop: () => started.disposeAsync(),
  };
}
