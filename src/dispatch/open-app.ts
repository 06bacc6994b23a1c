import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { KitError } from '../base/errors.ts';
import { shown, textOf } from '../base/thrown.ts';
import type { AppPages } from '../observer.ts';
import type { EventStore, StatePlace } from '../store/event-store.ts';
import { isResource } from '../store/filters.ts';
import { stateJson } from '../store/lists/event-json.ts';
import type { DefinedApp, RoutesContext, StartContext, Started, StateOf } from './app.ts';
import type { Handlers } from './handler.ts';
import { loading } from './process-guard.ts';

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

/**
 * Runs the `start` of an app.
 * @throws KitError APP_FAILED with what it threw, and where
 */
export async function openApp(
  { start, settings = {} }: ReadyApp,
  { log }: { readonly log: Logger },
): Promise<OpenApp> {
  if (!start) return { value: undefined, async close() {} };
  const stop = new AbortController();
  const ctx: StartContext = { settings, log, signal: stop.signal };
  const started: unknown = await failing('start', async () => start(ctx as StartContext<never>));
  if (!isStarted(started)) {
    const must = 'must return { app, close }: what handlers share, and a function that closes it';
    throw new KitError(
      'APP_FAILED',
      `the start of the app failed: it returned ${shown(started)}, and ${must}`,
    );
  }
  const { app: value, close } = started;
  return {
    value,
    async close() {
      stop.abort(new DOMException('the process stops', 'AbortError'));
      if (!close) return;
      try {
        await loading(close);
      } catch (error) {
        log.error({ error: textOf(error) }, 'the close of the app failed');
      }
    },
  };
}

function isStarted(value: unknown): value is Started<unknown> {
  if (typeof value !== 'object' || value === null || !('app' in value)) return false;
  return !('close' in value) || value.close === undefined || typeof value.close === 'function';
}

/**
 * The pages of an app; undefined if it has none. Bodies of forms and of JSON are read, up to 16 KB.
 * @throws KitError APP_FAILED with what its `routes` threw, and where
 */
export async function appPages(
  { routes, settings = {} }: ReadyApp,
  { opened, store, log }: { opened: OpenApp; store: Pick<EventStore, 'state' | 'states'>; log: Logger },
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
  await failing('routes', async () => routes(router, ctx as RoutesContext<never, never>));
  const known = router.stack.flatMap(({ route }) => (route && answersGet(route) ? route.path : []));
  const paths = known.filter((path) => typeof path === 'string');
  const handler = express.Router();
  handler.use(express.urlencoded({ extended: false, limit: BODY }), express.json({ limit: BODY }));
  handler.use(router, refuseFailed(log));
  handler.get('/', (_req, res) => void res.type('html').send(listOf(paths)));
  return { handler, paths };
}

/** A list of the pages, where the app has none of its own there. */
function listOf(paths: readonly string[]): string {
  const links = paths.map((path) => `<li><a href="/app${path}">/app${path}</a></li>`);
  return `<!doctype html><html lang="en"><title>Pages of the app</title><h1>Pages of the app</h1><ul>${links.join('')}</ul></html>`;
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
async function failing<T>(what: 'start' | 'routes', work: () => Promise<T>): Promise<T> {
  try {
    return await loading(work);
  } catch (cause) {
    throw new KitError('APP_FAILED', `the ${what} of the app failed: ${textOf(cause)}`, { cause });
  }
}
