import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { KitError } from '../base/errors.ts';
import type { Config } from '../config.ts';
import { isKind, kindNames } from '../notification/kinds.ts';
import { loading } from './at-work.ts';
import type { Handlers } from './handler.ts';

const project = fileURLToPath(new URL('../../', import.meta.url));

/** The module of the handlers, as a path. */
export function handlersFile({ HANDLERS }: Pick<Config, 'HANDLERS'>): string {
  return resolve(project, HANDLERS);
}

/**
 * Loads the handlers of the module that HANDLERS names. Only commands that run them load them: help and events work while
 * the files of a developer do not.
 * @throws KitError HANDLERS_UNUSABLE with the file and what is wrong in it
 */
export async function loadHandlers(config: Pick<Config, 'HANDLERS'>): Promise<Handlers> {
  const file = handlersFile(config);
  let module: { readonly handlers?: unknown };
  try {
    module = await loading(() => import(pathToFileURL(file).href));
  } catch (cause) {
    throw new KitError('HANDLERS_UNUSABLE', `${nameOf(file)} does not load:\n${told(cause)}`, { cause });
  }
  const { handlers } = module;
  const wrong = mistakeIn(handlers);
  if (wrong === undefined) return handlers as Handlers;
  throw new KitError('HANDLERS_UNUSABLE', `${nameOf(file)} ${wrong}`);
}

function mistakeIn(handlers: unknown): string | undefined {
  if (typeof handlers !== 'object' || handlers === null) return 'exports no object `handlers`';
  for (const [kind, handler] of Object.entries(handlers)) {
    if (!isKind(kind) && kind !== 'unknown')
      return `has a handler for ${kind}, but the kinds are ${kindNames.join(', ')} and unknown`;
    if (handler !== undefined && typeof handler !== 'function')
      return `has a handler for ${kind} that is no function`;
  }
  return undefined;
}

/** `src/handlers/` for the index of that folder. */
function nameOf(file: string): string {
  const path = relative(project, file);
  return (path.startsWith('..') ? file : path).replace(/(?<=\/)index\.\w+$/, '');
}

/**
 * Node's text about the error without the stack; for a syntax error the text begins with its line. For a missing module,
 * Node also names the module that imports it: that is this file, and so HANDLERS.
 */
function told(cause: unknown): string {
  const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  const lines = text
    .replace(` imported from ${fileURLToPath(import.meta.url)}`, ' (HANDLERS names it)')
    .split('\n')
    .filter((line) => !/^ {4}at (async )?(.*\()?node:/.test(line));
  const here = lines.findIndex((line) => /^ {4}at .*load-handlers\.ts/.test(line));
  return lines
    .slice(0, here === -1 ? undefined : here)
    .join('\n')
    .trimEnd();
}
