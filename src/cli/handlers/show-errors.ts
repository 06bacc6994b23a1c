import { relative } from 'node:path';
import type { ErrorRequestHandler } from 'express';
import { systemClock } from '../../base/clock.ts';
import { codeFrame } from '../../base/code-frame.ts';
import { messagesOf, placeOf } from '../../base/thrown.ts';
import type { Handler, HandlerContext, Handlers } from '../../dispatch/handler.ts';
import type { ReadyApp } from '../../dispatch/open-app.ts';
import { line, say } from '../print.ts';
import { terminal } from '../terminal.ts';

/**
 * The same handlers. An error that one of them throws is also shown on stderr, with the code around the place in the user's
 * own files that it comes from.
 */
export function showingErrors(handlers: Handlers): Handlers {
  const showing = Object.entries(handlers).map(([kind, handler]) => [kind, handler && showErrorsOf(handler)]);
  return Object.fromEntries(showing) as Handlers;
}

/** The same app. Errors of its start and its pages are shown as well, and what each handler did is told in a line. */
export function showing(app: ReadyApp): ReadyApp {
  const { start, routes } = app;
  return {
    ...app,
    handlers: tellingEnds(showingErrors(app.handlers)),
    start: start && ((ctx) => shownIfFailed(async () => start(ctx))),
    routes:
      routes &&
      ((router, ctx) =>
        shownIfFailed(async () => {
          await routes(router, ctx);
          const showFailed: ErrorRequestHandler = (error, _req, _res, next) => {
            show(error);
            next(error);
          };
          router.use(showFailed);
        })),
  };
}

async function shownIfFailed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    show(error);
    throw error;
  }
}

/** The log has a line for what fails. */
function tellingEnds(handlers: Handlers): Handlers {
  const telling = Object.entries(handlers).map(([kind, handler]: [string, Handler<never> | undefined]) => [
    kind,
    handler &&
      (async (event: never, ctx: HandlerContext) => {
        const began = systemClock.monotonic();
        const outcome = await handler(event, ctx);
        const ids = Object.entries(event).flatMap(([name, id]) =>
          name.endsWith('_id') && !OTHER_IDS.includes(name) ? String(id) : [],
        );
        if (outcome === undefined)
          say(line(`${kind} ${ids.join(' ')} handled in ${Math.round(systemClock.monotonic() - began)} ms`));
        return outcome;
      }),
  ]);
  return Object.fromEntries(telling);
}

const OTHER_IDS = ['webhook_id', 'site_id'];

function showErrorsOf(handler: Handler<never>): Handler<never> {
  return async (event, ctx) => {
    try {
      return await handler(event, ctx);
    } catch (error) {
      if (!isStopped(ctx)) show(error);
      throw error;
    }
  };
}

/** Shows the errors that handlers left behind, in a timer or in a promise without await, as long as the process lives. */
export function showErrorsLeftBehind(): void {
  // Before the guard, which may end the process.
  process.prependListener('uncaughtException', show).prependListener('unhandledRejection', show);
}

/** Whether the handler was cut short because the service stops: its error is none of its own. */
function isStopped({ signal }: HandlerContext): boolean {
  return signal.aborted && signal.reason?.name === 'AbortError';
}

function show(error: unknown): void {
  const place = placeOf(error);
  if (!place) return; // the log has all that is known
  const { file, line, column } = place;
  const frame = codeFrame(place);
  const head = `\n${pathToShow(file)}:${line}:${column}\n`;
  say(`${head}${frame === undefined ? '' : `${frame}\n`}${messagesOf(error)}\n`);
}

/** A path as a user would type it where the command runs. */
export function pathToShow(file: string): string {
  const path = relative(terminal().cwd, file);
  return path.startsWith('..') ? file : path;
}
