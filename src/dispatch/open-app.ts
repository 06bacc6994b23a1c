import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { shown, textOf } from '../base/thrown.ts';
import type { AppPages } from '../observer.ts';
import { stateJson } from '../store/event-json.ts';
import type { EventStore, StatePlace } from '../store/event-store.ts';
import { isResource } from '../store/filters.ts';
import type { DefinedApp, RoutesContext, StartContext, StateOf } from './app.ts';
import { loading } from './at-work.ts';
import type { Handlers } from './handler.ts';
import { tellingIfSlow } from './slow-start.ts';

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

/** Less than the ten seconds that everything has to close at a stop. */
const SLOW_CLOSE_MS = 5000;

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
  const started = await failing('start', { log, clock }, async () => start(ctx as StartContext<never>));
  const { app: value, close } = checkStarted(started);
  const tellOfClose = () => log.warn('the close of the app has not ended yet, and the stop waits for it');
  return {
    value,
    async close() {
      stop.abort(new DOMException('the process stops', 'AbortError'));
      if (!close) return;
      try {
        await tellingIfSlow(clock, tellOfClose, async () => loading(close), SLOW_CLOSE_MS);
      } catch (error) {
        log.error({ error: textOf(error) }, 'the close of the app failed');
      }
    },
  };
}

/** @throws KitError without a stack: the mistake is in what `start` returns, and nowhere in ours */
function checkStarted(started: unknown): {
  readonly app: unknown;
  readonly close?: (() => unknown) | undefined;
} {
  const isObject = typeof started === 'object' && started !== null;
  if (!isObject || !('app' in started))
    throw refused(
      `it returned ${shown(started)}, and must return { app, close }: what handlers share, and what closes it`,
    );
  const { app, close } = started as { readonly app: unknown; readonly close?: unknown };
  if (close !== undefined && typeof close !== 'function')
    throw refused(`the close that it returned is ${shown(close)}, and must be a function`);
  return { app, close: close as (() => unknown) | undefined };
}

function refused(message: string): KitError {
  return new KitError('APP_FAILED', `the start of the app failed: ${message}`);
}

interface PagesNeeds {
  readonly opened: OpenApp;
  readonly store: Pick<EventStore, 'state' | 'states'>;
  readonly log: Logger;
  readonly clock: Clock;
}

/**
 * The pages of an app; undefined if it has none. Bodies of forms and of JSON are read, up to 16 KB.
 * @throws KitError APP_FAILED with what its `routes` threw, and where
 */
export async function appPages(
  { routes, settings = {} }: ReadyApp,
  { opened, store, log, clock }: PagesNeeds,
): Promise<AppPages | undefined> {
  if (!routes) return undefined;
  const { default: express } = await import('express');
  const router = express.Router();
  const ctx: RoutesContext = {
    app: opened.value,
    settings,
    log,
    states: (of, name) => statesOf(store, of, name),
    state: async (resource) => stateJson(await store.state(resourceOf(resource))),
  };
  await failing('routes', { log, clock }, async () => routes(router, ctx as RoutesContext<never, never>));
  const known = router.stack.flatMap(({ route }) => (route && answersGet(route) ? route.path : []));
  const paths = known.filter((path) => typeof path === 'string');
  const handler = express.Router();
  handler.use(express.urlencoded({ extended: false, limit: BODY }), express.json({ limit: BODY }));
  handler.use(router, refuseFailed(log));
  handler.get('/', (_req, res) => void res.type('html').send(indexOf(paths)));
  return { handler, paths };
}

/** A list of the pages, where the app has none of its own there. */
function indexOf(paths: readonly string[]): string {
  const items = paths.map((path) => {
    const shown = `/app${path}`.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
    return `<li>${/[:*{]/.test(path) ? shown : `<a href="${shown}">${shown}</a>`}</li>`;
  });
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Pages of the app</title></head>
<body><h1>Pages of the app</h1><ul>${items.join('')}</ul><p><a href="/">hookkit</a></p></body>
</html>
`;
}

const BODY = '16kb';

function answersGet({ stack }: { readonly stack: readonly { readonly method: string }[] }): boolean {
  return stack.some(({ method }) => method === 'get');
}

/** Logs what a page threw, with its place in the app's files. What was wrong with a request is left to the listener. */
function refuseFailed(log: Logger): ErrorRequestHandler {
  return (error, req, res, next) => {
    if (error?.status >= 400 && error.status < 500) return next(error);
    log.error({ error: textOf(error), path: req.baseUrl + req.path }, 'a page of the app failed');
    if (res.headersSent) return void res.destroy(); // its reader must not take it for whole
    res.status(500).type('text').send('internal error; see the log\n');
  };
}

/** @throws TypeError: a name without what it is of would seem to have no state */
function resourceOf(given: unknown): string {
  if (typeof given === 'string' && isResource(given)) return given;
  throw new TypeError(`state('media:ID') or state('channel:ID'), not ${shown(given)}`);
}

/** Goes through the states of all media or channels, a stretch at a time: memory does not grow with their number. */
async function* statesOf<T>(
  store: Pick<EventStore, 'states'>,
  of: 'channel' | 'media',
  name: string,
): AsyncGenerator<StateOf<T>> {
  if (of !== 'media' && of !== 'channel')
    throw new TypeError(`states('media', name) or states('channel', name), not ${shown(of)}`);
  let after: StatePlace | undefined;
  do {
    const { values, next } = await store.states({ of, name, after });
    for (const { resource, value } of values) yield { resource, value: JSON.parse(value) };
    after = next;
  } while (after);
}

/** Errors that it leaves behind, in timers and promises, are then known to be of the app. */
async function failing<T>(
  what: 'start' | 'routes',
  { log, clock }: Pick<PagesNeeds, 'log' | 'clock'>,
  work: () => Promise<T>,
): Promise<T> {
  const tell = () => log.warn({ waiting_for: what }, 'the app has not started yet, so nothing listens');
  try {
    return await tellingIfSlow(clock, tell, () => loading(work));
  } catch (cause) {
    throw new KitError('APP_FAILED', `the ${what} of the app failed: ${textOf(cause)}`, { cause });
  }
}
