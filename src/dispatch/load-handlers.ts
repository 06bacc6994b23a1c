import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Logger } from 'pino';
import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { isPackage } from '../base/program.ts';
import { stackTextOf } from '../base/thrown.ts';
import { type Config, loadSettingsOf, projectFolder } from '../config.ts';
import type { DefinedApp } from './app.ts';
import { loading } from './at-work.ts';
import { type Handlers, isPromise } from './handler.ts';
import { mistakeInHandlers } from './mistake-in-handlers.ts';
import type { ReadyApp } from './open-app.ts';
import { tellingIfSlow } from './slow-start.ts';

/** Where handlers are if HANDLERS is not set: the first of these that is there. */
const USUAL = ['src/handlers/index.ts', 'src/handlers.ts'];

/**
 * The module of the handlers, as a path.
 * @throws KitError HANDLERS_UNUSABLE if there is no such file
 */
export function handlersFile(config: Pick<Config, 'HANDLERS'>): string {
  const { HANDLERS } = config;
  const project = projectFolder();
  const file = possibleFiles(config).find((path) => existsSync(path));
  if (file !== undefined) return file;
  const missing =
    HANDLERS === undefined
      ? `there are no handlers in ${project}: it has neither ${USUAL.join(' nor ')}`
      : `there is no ${resolve(project, HANDLERS)}, which HANDLERS names`;
  throw new KitError('HANDLERS_UNUSABLE', `${missing}. ${advice()}`);
}

/** Where the module of the handlers may be; the first that is there is meant. */
export function possibleFiles({ HANDLERS }: Pick<Config, 'HANDLERS'>): readonly string[] {
  const files = HANDLERS === undefined ? USUAL : [HANDLERS];
  return files.map((path) => resolve(projectFolder(), path));
}

function advice(): string {
  return isPackage
    ? 'Run hookkit in the folder of your receiver, or name the module of your handlers in HANDLERS. npx hookkit init writes a receiver'
    : 'Name the module of your handlers in HANDLERS; a relative path begins at the folder of the kit';
}

/** An app whose settings are not read yet. */
export type LoadedApp = Omit<DefinedApp, 'handlers'> & { readonly handlers: Handlers };

/**
 * Loads the module that HANDLERS names: its `app`, as `defineApp` makes it, or its `handlers` alone. Only commands that run
 * handlers load them: help and events work while the files of a developer do not.
 * @throws KitError HANDLERS_UNUSABLE with the file and what is wrong in it; CONFIG_INVALID naming every mistake in its settings
 */
export async function loadApp(
  config: Pick<Config, 'HANDLERS'>,
  log?: Pick<Logger, 'warn'>,
): Promise<ReadyApp> {
  return readApp(await loadDefinition(config, log));
}

/** Reads the settings of an app. @throws KitError CONFIG_INVALID naming every mistake in them */
export function readApp({ settings, ...app }: LoadedApp): ReadyApp {
  return settings ? { ...app, settings: loadSettingsOf(settings) } : app;
}

/** The same without reading its settings. @throws KitError HANDLERS_UNUSABLE */
export async function loadDefinition(
  config: Pick<Config, 'HANDLERS'>,
  log?: Pick<Logger, 'warn'>,
): Promise<LoadedApp> {
  const file = handlersFile(config);
  let app: unknown;
  let wrong: string | undefined;
  const tell = () => log?.warn({ handlers: nameOf(file) }, NOT_LOADED);
  try {
    const module: Exported = await tellingIfSlow(systemClock, tell, () =>
      loading(() => import(pathToFileURL(file).href)),
    );
    app = module.app ?? { handlers: module.handlers };
    wrong =
      mistakeInExports(module) ??
      mistakeInApp(app) ??
      mistakeIn((app as LoadedApp).handlers, module.app !== undefined);
  } catch (cause) {
    throw new KitError('HANDLERS_UNUSABLE', `${nameOf(file)} does not load:\n${told(cause)}`, { cause });
  }
  if (wrong === undefined) return app as LoadedApp;
  throw new KitError('HANDLERS_UNUSABLE', `${nameOf(file)} ${wrong}`);
}

const NOT_LOADED =
  'the handlers have not loaded yet, so none runs: their module waits for something at its top level';

interface Exported {
  readonly app?: unknown;
  readonly handlers?: unknown;
  readonly default?: unknown;
}

/** What is wrong with the names that a module exports: one of two would silently not count. */
function mistakeInExports({ app, handlers, default: other }: Exported): string | undefined {
  if (app !== undefined && handlers !== undefined)
    return 'exports both `app` and `handlers`: put the handlers into the app';
  if (app === undefined && hasHandlers(handlers))
    return 'exports an app as `handlers`: write export const app = defineApp({ ... })';
  if (app === undefined && handlers === undefined && other !== undefined)
    return 'has a default export only: name it, export const handlers or export const app';
  return undefined;
}

function hasHandlers(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'handlers' in value;
}

const MEMBERS = ['settings', 'start', 'handlers', 'routes'];

/** What is wrong with an `app`, but for its handlers. */
function mistakeInApp(app: unknown): string | undefined {
  if (typeof app !== 'object' || app === null)
    return 'exports an `app` that is no object: make it with defineApp';
  if (isPromise(app)) return 'exports a promise as `app`: write export const app = await ...';
  const odd = Object.keys(app).find((name) => !MEMBERS.includes(name));
  if (odd !== undefined) return `has an app with a member ${odd}, but its members are ${MEMBERS.join(', ')}`;
  const { settings, start, routes } = app as Readonly<Record<string, unknown>>;
  if (settings !== undefined && !isObjectSchema(settings))
    return 'has an app whose settings are no zod object: write settings: z.object({ ... })';
  for (const [name, member] of Object.entries({ start, routes }))
    if (member !== undefined && typeof member !== 'function')
      return `has an app whose ${name} is no function`;
  return undefined;
}

/** Of whatever copy of zod. */
function isObjectSchema(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { shape, safeParse } = schema as Readonly<Record<string, unknown>>;
  return typeof shape === 'object' && shape !== null && typeof safeParse === 'function';
}

function mistakeIn(handlers: unknown, isOfApp: boolean): string | undefined {
  if (typeof handlers !== 'object' || handlers === null)
    return isOfApp ? 'has an app without an object `handlers`' : 'exports no object `handlers`, and no `app`';
  if (isPromise(handlers))
    return isOfApp
      ? 'has an app whose `handlers` are a promise: await it'
      : 'exports a promise as `handlers`: write export const handlers = await ...';
  const mistake = mistakeInHandlers(handlers);
  return mistake && `has ${mistake}`;
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
  const lines = stackTextOf(cause)
    .replace(` imported from ${fileURLToPath(import.meta.url)}`, ' (HANDLERS names it)')
    .split('\n')
    .filter((line) => !/^ {4}at (async )?(.*\()?node:/.test(line));
  const here = lines.findIndex((line) => /^ {4}at .*load-handlers\.[jt]s/.test(line));
  return lines
    .slice(0, here === -1 ? undefined : here)
    .join('\n')
    .trimEnd();
}
