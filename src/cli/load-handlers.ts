import { loading } from '../dispatch/at-work.ts';
import type { Handlers } from '../dispatch/handler.ts';
import { KitError } from '../errors.ts';

/**
 * The handlers of src/handlers/. They are loaded when a command needs them: help and events are there in whatever state
 * the files are that somebody is writing.
 * @throws KitError HANDLERS_UNUSABLE with the file and what is wrong in it
 */
export async function loadHandlers(): Promise<Handlers> {
  try {
    return (await loading(() => import('../handlers/index.ts'))).handlers;
  } catch (cause) {
    throw new KitError('HANDLERS_UNUSABLE', `src/handlers/ does not load:\n${told(cause)}`, { cause });
  }
}

/** What Node says about it, which begins with the line for mistakes in the language; without what led there. */
function told(cause: unknown): string {
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  const lines = text.split('\n').filter((line) => !/^ {4}at .*node:internal/.test(line));
  const here = lines.findIndex((line) => line.includes('load-handlers.ts'));
  return lines.slice(0, here === -1 ? undefined : here).join('\n');
}
