import type { Logger } from 'pino';
import { systemClock, within } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { shown, textOf } from '../base/thrown.ts';
import type { Parts } from '../observer.ts';
import { StatusesClient } from '../provider/index.ts';
import type { Queue, StatePlace } from '../store/event-store.ts';
import { stateJson } from '../store/queue/lists/event-json.ts';
import { RESOURCE } from '../store/stored.ts';
import type { DefinedApp, StartContext, Started, StateOf, Wrapped } from './handler.ts';
import { atWorkOn, awaiting } from './process-guard.ts';

/** An app whose settings are read. */
export interface ReadyApp extends Wrapped, Omit<DefinedApp, 'settings'> {
  /** the values of its settings */
  readonly settings?: Record<string, unknown> | undefined;
}

const UNCLOSED = 'the close of the app has not ended within SHUTDOWN_GRACE_MS; the stop goes on without it';

interface OpenOptions extends Pick<Parts, 'config' | 'log'> {
  readonly store: { readonly queue: Pick<Queue, 'state' | 'states'> };
}

/**
 * Runs the `start` of an app.
 * @throws KitError APP_FAILED with the error of `start`, and its place
 */
export async function openApp(
  { start, settings = {}, ...app }: ReadyApp,
  { config, log, store: { queue } }: OpenOptions,
) {
  const { STATUSES_BASE_URL: baseUrl, STATUSES_TOKEN: token } = config;
  const stop = new AbortController();
  const ctx: StartContext<Record<string, unknown>> = {
    settings,
    log,
    signal: stop.signal,
    /** Reads a stretch at a time: memory does not grow with the number of values. */
    async *states<T>(of: 'channel' | 'media', name: string, subscriber = ''): AsyncGenerator<StateOf<T>> {
      let after: StatePlace | undefined;
      do {
        const values = await queue.states({ subscriber, of, after });
        const named = values.filter((one) => one.name === name);
        for (const { resource, value } of named) yield { resource, value: JSON.parse(value) };
        after = values.at(-1);
      } while (after);
    },
    async state(resource, subscriber = '') {
      // An id without `media:` or `channel:` before it would seem to have no state.
      if (RESOURCE.test(resource)) return stateJson(await queue.state({ resource, subscriber }));
      throw new TypeError(`state('media:ID') or state('channel:ID'), not ${shown(resource)}`);
    },
  };
  const { app: value, close } = await failing('start', log, async (): Promise<Started<unknown>> => {
    const started = start ? await start(ctx) : { app: undefined };
    if ('app' in Object(started)) return started;
    const must = 'must return { app, close }: what handlers share, and a function that closes it';
    throw new TypeError(`it returned ${shown(started)}, and ${must}`);
  });
  return {
    ...app,
    /** the argument of its `start` */
    ctx,
    value,
    // A handler has its own time-out, so it is better to wait longer between two attempts than within one.
    statuses: baseUrl && token ? new StatusesClient({ baseUrl, token, maxWaitMs: 10_000 }) : undefined,
    /** Closes what `start` has opened, once no handler runs any more, for SHUTDOWN_GRACE_MS at most. Errors of its `close` are logged. */
    async close() {
      stop.abort(new DOMException('the process stops', 'AbortError'));
      try {
        const closed = atWorkOn(undefined, async () => close?.()).then(() => true);
        if (!(await within(systemClock, config.SHUTDOWN_GRACE_MS, closed))) log.error(UNCLOSED);
      } catch (error) {
        log.error({ error: textOf(error) }, 'the close of the app failed');
      }
    },
  };
}

const BODY_LIMIT = '16kb';

/**
 * The pages of an app; undefined if it has none. Bodies of forms and of JSON are read, up to 16 KB.
 * @throws KitError APP_FAILED with the error of `routes`, and its place
 */
export async function appPages({ routes, ctx, value: app }: Awaited<ReturnType<typeof openApp>>) {
  if (!routes) return undefined;
  const { default: express } = await import('express');
  const router = express.Router();
  router.use(express.urlencoded({ extended: false, limit: BODY_LIMIT }), express.json({ limit: BODY_LIMIT }));
  await failing('routes', ctx.log, () => routes(router, { ...ctx, app }));
  const first = router.stack.find(({ route }) => route?.stack[0]?.method === 'get')?.route?.path;
  // Where the app has no page of its own at `/app/`. It is relative, as a proxy may have a path before it.
  if (first !== undefined) router.get('/', (_req, res) => res.redirect(`.${first}`));
  return router;
}

/** Runs a function of the app. Errors that it leaves behind, in timers and promises, are then known to be of the app. */
async function failing<T>(what: 'start' | 'routes', log: Logger, work: () => T): Promise<Awaited<T>> {
  try {
    return await awaiting(`the ${what} of the app`, work, (text) => log.warn(text));
  } catch (cause) {
    throw new KitError('APP_FAILED', `the ${what} of the app failed: ${textOf(cause)}`, { cause });
  }
}
