import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { KitError } from '../base/errors.ts';
import { isPackage } from '../base/program.ts';
import { type Config, projectFolder } from '../config.ts';
import { isKind, kindNames } from '../notification/kinds.ts';
import { loading } from './at-work.ts';
import type { Handlers } from './handler.ts';

/** Where handlers are if HANDLERS is not set: the first of these that is there. */
const USUAL = ['src/handlers/index.ts', 'src/handlers.ts'];

/**
 * The module of the handlers, as a path.
 * @throws KitError HANDLERS_UNUSABLE if there is no such file
 */
export function handlersFile({ HANDLERS }: Pick<Config, 'HANDLERS'>): string {
  const project = projectFolder();
  const files = HANDLERS === undefined ? USUAL : [HANDLERS];
  const file = files.map((path) => resolve(project, path)).find((path) => existsSync(path));
  if (file !== undefined) return file;
  const missing =
    HANDLERS === undefined
      ? `there are no handlers in ${project}: it has neither ${USUAL.join(' nor ')}`
      : `there is no ${resolve(project, HANDLERS)}, which HANDLERS names`;
  throw new KitError('HANDLERS_UNUSABLE', `${missing}. ${advice()}`);
}

function advice(): string {
  return isPackage
    ? 'Run hookkit in the folder of your receiver, or name the module of your handlers in HANDLERS. npx hookkit init writes a receiver'
    : 'Name the module of your handlers in HANDLERS; a relative path begins at the folder of the kit';
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
  const path = relative(projectFolder(), file);
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
  const here = lines.findIndex((line) => /^ {4}at .*load-handlers\.[jt]s/.test(line));
  return lines
    .slice(0, here === -1 ? undefined : here)
    .join('\n')
    .trimEnd();
}
