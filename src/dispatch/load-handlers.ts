import { statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isPromise } from 'node:util/types';
import { systemClock } from '../base/clock.ts';
import { KitError, messageOf } from '../base/errors.ts';
import { nextOf } from '../base/schedule.ts';
import { isInKit, shown, textOf } from '../base/thrown.ts';
import { type Config, parseSettings, projectFolder } from '../config.ts';
import { isKind, kindNames } from '../notification/kinds.ts';
import { isSubscriber } from '../store/stored.ts';
import { type DefinedApp, limitsOf, repeatedOf, type Schedule, specOf } from './handler.ts';
import type { ReadyApp } from './open-app.ts';
import { awaiting, type Tell } from './process-guard.ts';

type Settings = Pick<Config, 'HANDLERS' | 'readFrom'>;

/** Where handlers are if HANDLERS is not set: the first of these that is there. */
const USUAL = ['src/handlers/index.ts', 'src/handlers.ts'];

/**
 * The module of the handlers, as a path.
 * @throws KitError HANDLERS_UNUSABLE if there is no such file
 */
export function handlersFile({ HANDLERS }: Pick<Config, 'HANDLERS'>): string {
  const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile();
  const files = (HANDLERS === undefined ? USUAL : [HANDLERS]).map((path) => resolve(projectFolder(), path));
  const file = files.find(isFile);
  if (file !== undefined) return file;
  const missing = `there is no file ${files.join(' or ')}`;
  const advice = `Name the module of your handlers in HANDLERS; a relative path begins at ${projectFolder()}`;
  throw new KitError('HANDLERS_UNUSABLE', `${missing}. ${advice}. npx hookkit init writes a receiver`);
}

/**
 * Loads the module that HANDLERS names: its `app`, as `defineApp` makes it, or its `handlers` alone. Only commands that run
 * handlers load them: help and events work while the files of a developer do not.
 * @param tell of a load that takes long
 * @throws KitError HANDLERS_UNUSABLE with the file and what is wrong in it; CONFIG_INVALID naming every mistake in its settings
 */
export async function loadApp(config: Settings, tell: Tell): Promise<ReadyApp> {
  return readApp(await loadDefinition(config, tell), config);
}

/** An app, with the values of its settings. @throws KitError CONFIG_INVALID naming every mistake */
export function readApp({ settings, ...app }: DefinedApp, { readFrom }: Settings): ReadyApp {
  return { ...app, settings: settings && parseSettings(settings, readFrom) };
}

/** Loads the same module without reading the settings of its app. @throws KitError HANDLERS_UNUSABLE */
export async function loadDefinition(config: Pick<Config, 'HANDLERS'>, tell: Tell): Promise<DefinedApp> {
  const file = handlersFile(config);
  const load = () => import(pathToFileURL(file).href);
  const module: Exported = await awaiting(`${nameOf(file)} to load`, load, tell).catch((cause) => {
    throw new KitError('HANDLERS_UNUSABLE', `${nameOf(file)} does not load:\n${told(cause)}`, { cause });
  });
  const { app = { handlers: module.handlers } } = module;
  const wrong = mistakeIn(module);
  if (wrong === undefined) return app as DefinedApp;
  throw new KitError('HANDLERS_UNUSABLE', `${nameOf(file)} ${wrong}`);
}

type Exported = { readonly [name in 'app' | 'handlers']?: unknown };

const OWN = ['handlers', 'limits'];
const MEMBERS = ['settings', 'start', 'subscribers', 'schedule', 'reconcile', 'routes', 'onDead', ...OWN];
const A_NAME =
  'a name has 1 to 40 lowercase letters, digits and hyphens, begins with a letter, and is not main or all';

/** What is wrong with a module, or with the options of a test kit; undefined if nothing is. With both names, one would silently not count. */
export function mistakeIn({ app, handlers }: Exported): string | undefined {
  if (app !== undefined && handlers !== undefined)
    return 'has both `app` and `handlers`: put the handlers into the app';
  const { settings, subscribers = {}, schedule = {} } = isObject(app) ? app : {};
  if (settings !== undefined && !(isObject(settings) && isObject(settings.shape)))
    return 'has an app whose settings are no zod object: write settings: z.object({ ... })';
  if (!isObject(subscribers)) return 'has an app whose subscribers are no object';
  if (!isObject(schedule)) return 'has an app whose schedule is no object';
  const mistake = mistakeInPart(app ?? { handlers }, MEMBERS);
  if (mistake !== undefined) return `has ${app === undefined ? '' : 'an app with '}${mistake}`;
  for (const [name, subscriber] of Object.entries(subscribers)) {
    if (!isSubscriber(name)) return `has a subscriber ${name}: ${A_NAME}`;
    const own = mistakeInPart(subscriber, OWN);
    if (own !== undefined) return `has a subscriber ${name} with ${own}`;
  }
  for (const [name, one] of Object.entries(schedule)) {
    if (!isSubscriber(name)) return `has a schedule ${name}: ${A_NAME}`;
    const own = mistakeInSchedule(one);
    if (own !== undefined) return `has a schedule ${name} ${own}`;
  }
  return undefined;
}

/** What is wrong with a schedule. */
function mistakeInSchedule(one: unknown): string | undefined {
  if (!isObject(one) || typeof one.run !== 'function') return 'without a function `run`';
  if ((one.every === undefined) === (one.cron === undefined))
    return "without a time: either every: '1h' or cron: '0 6 * * *'";
  if (one.timeoutMs !== undefined && !(Number(one.timeoutMs) >= 1))
    return `with a timeoutMs of ${shown(one.timeoutMs)}`;
  try {
    const next = nextOf(specOf(one as unknown as Schedule), systemClock.now());
    return next ? undefined : `that never comes: ${shown(one.cron)}`;
  } catch (error) {
    return `with no time: ${messageOf(error)}`;
  }
}

const BUT_THE_KINDS = `but the kinds are ${kindNames.join(', ')}, unknown and reminder`;
const isNoKind = (kind: string) => !isKind(kind) && !['unknown', 'reminder'].includes(kind);

/** What is wrong with the handlers of an app or subscriber, and with their limits. @param members that it may have */
function mistakeInPart(part: unknown, members: readonly string[]): string | undefined {
  if (!isObject(part) || !isObject(part.handlers))
    return 'no object `handlers`: export one, or give one to defineApp; await a promise';
  const odd = Object.keys(part).find((name) => !members.includes(name));
  if (odd !== undefined) return `a member ${odd}, but its members are ${members.join(', ')}`;
  for (const [kind, handler] of Object.entries(part.handlers)) {
    if (isNoKind(kind)) return `a handler for ${kind}, ${BUT_THE_KINDS}`;
    if (handler !== undefined && typeof handler !== 'function')
      return `a handler for ${kind} that is no function`;
  }
  const limits = limitsOf(part);
  if (limits.some((limit) => !Array.isArray(limit?.kinds))) return 'a limit without a list of kinds';
  const kinds = limits.flatMap((limit) => limit.kinds);
  const unlimited = kinds.find((kind) => isNoKind(kind) && !kind.startsWith('schedule:'));
  if (unlimited !== undefined) return `a limit for ${unlimited}, ${BUT_THE_KINDS}`;
  const twice = repeatedOf(kinds);
  if (twice !== undefined) return `two limits for ${twice}`;
  const wrong = limits.find(({ most }) => !Number.isInteger(most) || most < 1);
  return wrong && `a limit of ${wrong.most} for ${wrong.kinds.join(', ')}: it must be a whole number from 1`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !isPromise(value);
}

/** `src/handlers/` for the index of that folder. */
function nameOf(file: string): string {
  const path = relative(projectFolder(), file);
  return (path.startsWith('..') ? file : path).replace(/(?<=\/)index\.\w+$/, '');
}

/** The error with its stack up to here. Of a syntax error, Node puts the line of code before it. */
function told(cause: unknown): string {
  const stack = cause instanceof SyntaxError ? String(cause.stack) : '';
  const code = stack.slice(0, Math.max(0, stack.indexOf(SyntaxError.name)));
  const lines = (code + textOf(cause)).split('\n');
  const isOurs = (line: string) => /^ {4}at /.test(line) && (isInKit(line) || line.includes('/commander/'));
  return lines.filter((line) => !isOurs(line)).join('\n');
}
