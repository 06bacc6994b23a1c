import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { textOf } from '../base/thrown.ts';
import { stateJson } from '../store/event-json.ts';
import type { EventStore, StatePlace } from '../store/event-store.ts';
import type { DefinedApp, RoutesContext, StartContext, StateOf } from './app.ts';
import { loading } from './at-work.ts';
import type { Handlers } from './handler.ts';

/** An app whose settings are read. What it shares goes from its `start` to its handlers as it is, whatever its type. */
export interface ReadyApp extends Pick<DefinedApp, 'start' | 'routes'> {
  readonly handlers: Handlers;
  /** the values of its settings */
  readonly settings?: unknown;
}

/** What the `start` of an app has opened. */
export interface OpenApp {
  /** the value of `ctx.app` */
  readonly value: unknown;
  /** Closes it, once no handler runs any more. What its `close` throws is logged. */
  close(): Promise<void>;
}

/** A start that takes longer is told of: nothing listens meanwhile. */
const SLOW_MS = 10_000;

/**
 * Runs the `start` of an app.
 * @throws KitError APP_FAILED with what it threw, and where
 */
export async function openApp(
  { start, settings = {} }: ReadyApp,
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
): Promise<OpenApp> {
  if (!start) return { value: undefined, async close() {} };
  const stop = new AbortController();
  const ctx: StartContext = { settings, log, signal: stop.signal };
  const isSlow = clock.after(SLOW_MS, () =>
    log.warn('the start of the app has not ended yet, so nothing listens'),
  );
  const { app: value, close } = await failing('start', async () => {
    const started: unknown = await start(ctx as StartContext<never>);
    if (typeof started !== 'object' || started === null || !('app' in started))
      throw new TypeError('it must return { app, close }: what handlers share, and what closes it');
    return started as { readonly app: unknown; readonly close?: unknown };
  }).finally(isSlow);
  return {
    value,
    async close() {
      stop.abort(new DOMException('the process stops', 'AbortError'));
      if (typeof close !== 'function') return;
      try {
        await loading(() => close());
      } catch (error) {
        log.error({ error: textOf(error) }, 'the close of the app failed');
      }
    },
  };
}

interface RouterNeeds {
  readonly opened: OpenApp;
  readonly store: Pick<EventStore, 'state' | 'states'>;
  readonly log: Logger;
}

/**
 * The pages of an app, to be mounted at `/app`; undefined if it has none.
 * @throws KitError APP_FAILED with what its `routes` threw, and where
 */
export async function routerOf(
  { routes, settings = {} }: ReadyApp,
  { opened, store, log }: RouterNeeds,
): Promise<RequestHandler | undefined> {
  if (!routes) return undefined;
  const { Router } = await import('express');
  const router = Router();
  const ctx: RoutesContext = {
    app: opened.value,
    settings,
    log,
    states: (of, name) => statesOf(store, of, name),
    state: async (resource) => stateJson(await store.state(resource)),
  };
  await failing('routes', async () => routes(router, ctx as RoutesContext<never, never>));
  router.use(refuseFailed(log));
  return router;
}

/** Logs what a page threw, with its place in the app's files. What was wrong with a request is left to the listener. */
function refuseFailed(log: Logger): ErrorRequestHandler {
  return (error, req, res, next) => {
    if (res.headersSent || (error?.status >= 400 && error.status < 500)) return next(error);
    log.error({ error: textOf(error), path: req.baseUrl + req.path }, 'a page of the app failed');
    res.status(500).type('text').send('internal error; see the log\n');
  };
}

/** Goes through the states of all media or channels, a stretch at a time: memory does not grow with their number. */
async function* statesOf<T>(
  store: Pick<EventStore, 'states'>,
  of: 'channel' | 'media',
  name: string,
): AsyncGenerator<StateOf<T>> {
  let after: StatePlace | undefined;
  do {
    const { values, next } = await store.states({ of, name, after });
    for (const { resource, value } of values) yield { resource, value: JSON.parse(value) };
    after = next;
  } while (after);
}

/** Errors that it leaves behind, in timers and promises, are then known to be of the app. */
function failing<T>(what: 'start' | 'routes', work: () => Promise<T>): Promise<T> {
  return loading(work).catch((cause) => {
    throw new KitError('APP_FAILED', `the ${what} of the app failed: ${textOf(cause)}`, { cause });
  });
}
