import { relative } from 'node:path';
import { codeFrame } from '../../base/code-frame.ts';
import { messagesOf, placeOf } from '../../base/thrown.ts';
import type { Handler, HandlerContext, Handlers } from '../../dispatch/handler.ts';
import { say } from '../print.ts';
import { terminal } from '../terminal.ts';

/**
 * The same handlers. An error that one of them throws is also shown on stderr, with the code around the place in the user's
 * own files that it comes from.
 */
export function showingErrors(handlers: Handlers): Handlers {
  const showing = Object.entries(handlers).map(([kind, handler]) => [kind, handler && showErrorsOf(handler)]);
  return Object.fromEntries(showing) as Handlers;
}

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
