import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { systemClock } from '../base/clock.ts';
import { durationOf } from '../base/duration.ts';
import { KitError, messageOf } from '../base/errors.ts';
import { nextOf } from '../base/schedule.ts';
import { isInUsersFiles, textOf } from '../base/thrown.ts';
import { type Config, parseSettings, projectFolder } from '../config.ts';
import { kindNames } from '../notification/kinds.ts';
import { RECONCILE } from '../store/reports/report.ts';
import { isSubscriber } from '../store/stored.ts';
import { type DefinedApp, type Handlers, limitsOf, repeatedOf, specOf } from './handler.ts';
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
  const module: Exported = await awaiting(`${file} to load`, load, tell).catch((cause) => {
    throw new KitError('HANDLERS_UNUSABLE', `${file} does not load:\n${told(cause)}`, { cause });
  });
  const wrong = mistakeIn(module);
  if (wrong !== undefined) throw new KitError('HANDLERS_UNUSABLE', `${file} ${wrong}`);
  return module.app ?? { handlers: module.handlers ?? {} };
}

type Exported = { readonly app?: DefinedApp | undefined; readonly handlers?: Handlers | undefined };

/** What is wrong with a module, or with the options of a test kit; undefined if nothing is. With both names, one would silently not count. */
export function mistakeIn({ app, handlers }: Exported): string | undefined {
  if ((app === undefined) === (handlers === undefined))
    return 'must have either `handlers`, or an `app` that has them';
  const { error } = definition.safeParse(app ?? { handlers });
  const mistakes = error?.issues.map(({ path, message }) => `\n  ${[...path, message].join(': ')}`);
  return mistakes && `is not usable:${mistakes.join('')}`;
}

const KINDS: readonly string[] = [...kindNames, 'unknown', 'reminder'];
const A_HANDLER = `handlers are functions, none of them a promise, for ${KINDS.join(', ')}`;
const NAMED =
  'a name has 1 to 40 lowercase letters, digits and hyphens, begins with a letter, and is not main or all';
const A_SPAN = 'is a length of time of a second or more, as 1h or 30m';
const TWICE = 'a kind has two limits';

const text = z.string().optional();
const aFunction = z.custom((value) => typeof value === 'function', 'must be a function');
const kind = z.string().refine((slot) => KINDS.includes(slot));
const limited = z.union([kind, z.string().startsWith('schedule:')], A_HANDLER);
const name = z.string().refine(isSubscriber);
const part = z.strictObject({
  handlers: z.record(kind, aFunction.optional(), A_HANDLER),
  limits: z
    .record(z.string(), z.any())
    .transform((limits) => limitsOf({ limits }))
    .pipe(z.record(z.string(), z.strictObject({ kinds: z.array(limited), most: z.int().min(1) })))
    .refine((limits) => !repeatedOf(Object.values(limits).flatMap(({ kinds }) => kinds)), TWICE)
    .optional(),
});
const span = text.refine((length) => length === undefined || (durationOf(length) ?? 0) >= 1000, A_SPAN);
const most = z.int().min(1).optional();
const timeoutMs = z.number().min(1).optional();
const schedule = z
  .strictObject({ every: text, cron: text, zone: text, timeoutMs, run: aFunction })
  .superRefine((one, { addIssue }) => {
    try {
      if (nextOf(specOf(one), systemClock.now()) === undefined) addIssue('never comes');
    } catch (error) {
      addIssue(messageOf(error));
    }
  });
const OF_THE_KIT = 'schedule: reconcile: `reconcile` of the app has this name: give yours another name';
const members = part.extend({
  settings: z.custom((value) => Object(value).shape, 'must be z.object({ ... })').optional(),
  start: aFunction.optional(),
  subscribers: z.record(name, part, NAMED).optional(),
  schedule: z.record(name, schedule, NAMED).optional(),
  reconcile: z
    .strictObject({ every: span, after: span, lookback: span, most, expected: aFunction })
    .optional(),
  routes: aFunction.optional(),
  onDead: aFunction.optional(),
  wrap: aFunction.optional(), // as `events check` gives a receiver under test
});
const definition = members.refine(
  ({ schedule = {}, reconcile }) => !(reconcile && RECONCILE in schedule),
  OF_THE_KIT,
);

/** The error with its stack up to here. Of a syntax error, Node puts the line of code before it. */
function told(cause: unknown): string {
  const lines = (cause instanceof SyntaxError ? String(cause.stack) : textOf(cause)).split('\n');
  return lines.filter((line) => !line.startsWith('    at ') || isInUsersFiles(line)).join('\n');
}
