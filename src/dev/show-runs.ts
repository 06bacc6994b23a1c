import { relative } from 'node:path';
import type { ErrorRequestHandler } from 'express';
import { systemClock } from '../base/clock.ts';
import { codeFrame } from '../base/code-frame.ts';
import { messagesOf, placeOf } from '../base/thrown.ts';
import { visibleLine } from '../base/visible.ts';
import { around } from '../dispatch/around.ts';
import type { HandlerContext, Handlers } from '../dispatch/handler.ts';
import type { ReadyApp } from '../dispatch/open-app.ts';

/** Where a developer reads. */
export interface Reader {
  /** prints a text, with a line break after it */
  say(text: string): void;
  /** the directory that paths are shown from */
  readonly cwd: string;
}

/**
 * The same handlers. An error that one of them throws is also shown on stderr, with the code around the place in the user's
 * own files that it comes from.
 */
export function showingErrors(handlers: Handlers, reader: Reader): Handlers {
  return around(handlers, async ({ ctx, run }) => {
    try {
      return await run();
    } catch (error) {
      if (!isStopped(ctx)) show(error, reader);
      throw error;
    }
  });
}

/** The same app. Errors of its start and its pages are shown as well, and what each handler did is told in a line. */
export function showing(app: ReadyApp, reader: Reader): ReadyApp {
  const { start, routes } = app;
  return {
    ...app,
    handlers: tellingEnds(showingErrors(app.handlers, reader), reader),
    start: start && ((ctx) => shownIfFailed(reader, async () => start(ctx))),
    routes:
      routes &&
      ((router, ctx) =>
        shownIfFailed(reader, async () => {
          await routes(router, ctx);
          const showFailed: ErrorRequestHandler = (error, _req, _res, next) => {
            show(error, reader);
            next(error);
          };
          router.use(showFailed);
        })),
  };
}

async function shownIfFailed<T>(reader: Reader, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    show(error, reader);
    throw error;
  }
}

/** The log has a line for what fails. */
function tellingEnds(handlers: Handlers, { say }: Reader): Handlers {
  return around(handlers, async ({ kind, event, run }) => {
    const began = systemClock.monotonic();
    const outcome = await run();
    const ms = Math.round(systemClock.monotonic() - began);
    const own = Object.entries(event).filter(([name]) => name.endsWith('_id') && !OTHER_IDS.includes(name));
    const ids = own.map(([, id]) => String(id)).join(' ');
    if (outcome === undefined) say(visibleLine(`${kind} ${ids} handled in ${ms} ms`));
    return outcome;
  });
}

const OTHER_IDS = ['webhook_id', 'site_id'];

/** Shows the errors that handlers left behind, in a timer or in a promise without await, as long as the process lives. */
export function showErrorsLeftBehind(reader: Reader): void {
  const shown = (error: unknown) => show(error, reader);
  // Before the guard, which may end the process.
  process.prependListener('uncaughtException', shown).prependListener('unhandledRejection', shown);
}

/** Whether the handler was cut short because the service stops: its error is none of its own. */
function isStopped({ signal }: HandlerContext): boolean {
  return signal.aborted && signal.reason?.name === 'AbortError';
}

function show(error: unknown, { say, cwd }: Reader): void {
  const place = placeOf(error);
  if (!place) return; // the log has all that is known
  const { file, line, column } = place;
  const frame = codeFrame(place);
  const head = `\n${pathFrom(cwd, file)}:${line}:${column}\n`;
  say(`${head}${frame === undefined ? '' : `${frame}\n`}${messagesOf(error)}\n`);
}

/** A path as a user would type it where the command runs. */
export function pathFrom(cwd: string, file: string): string {
  const path = relative(cwd, file);
  return path.startsWith('..') ? file : path;
}
