import { type Config, parseConfig, parseSettings, variableNames } from '../config.ts';
import type { DefinedApp } from '../dispatch/app.ts';
import { type Handlers, isPromise, mistakeInHandlers } from '../dispatch/handler.ts';
import type { ReadyApp } from '../dispatch/open-app.ts';

export interface KitOptions {
  /**
   * what is tested; or what makes it, called whenever the process starts: then what handlers keep in memory is gone after a
   * crash, as it is in production
   */
  readonly handlers?: Handlers | (() => Handlers);
  /** in place of `handlers`: what `defineApp` gives, or what makes it. Its `start` runs whenever the process starts */
  readonly app?: DefinedApp | (() => DefinedApp);
  /** the value of `ctx.app`, such as fakes; then the `start` of the app does not run */
  readonly resources?: unknown;
  /** where events are kept: in memory, or in a file as a server has it; `memory` without it */
  readonly store?: 'memory' | 'sqlite';
  /** variables of the environment, the kit's and the app's, such as `{ RETRY_MAX_ATTEMPTS: '3' }`; all others have their defaults */
  readonly settings?: Readonly<Record<string, string>>;
  /** whether handlers have `ctx.statuses`, over the mock's statuses API; they do without it */
  readonly statuses?: boolean;
  /** how long a handler may take in real time until `settled` throws, in milliseconds; 3000 without it */
  readonly patienceMs?: number;
}

const TOLD = 'settings of testReceiver';
/** The same in every test: what is recorded with it can be compared. */
const INSTANCE = 'test-receiver';

/** @throws TypeError on options that the compiler would refuse */
export function checkOptions(options: KitOptions): void {
  if (typeof options !== 'object' || options === null)
    throw new TypeError('testReceiver takes { handlers } or { app }');
  if ('app' in options && 'handlers' in options)
    throw new TypeError('testReceiver takes either { handlers } or { app }: an app has its handlers');
  if (typeof (options.handlers ?? options.app) !== 'function') checkHandlers(definitionOf(options).handlers);
  const { store = 'memory' } = options;
  if (store !== 'memory' && store !== 'sqlite')
    throw new TypeError(`store is memory or sqlite, not ${store}`);
}

/**
 * What a process has that starts.
 * @throws TypeError on anything but handlers, or a setting that is none; KitError CONFIG_INVALID on settings that are not valid
 */
export function appOf(options: KitOptions): ReadyApp {
  const { settings: schema, handlers, start, routes } = definitionOf(options);
  checkHandlers(handlers);
  const { settings: given = {} } = options;
  const own = Object.keys(schema?.shape ?? {});
  const names: readonly string[] = [...variableNames, ...own];
  const odd = Object.keys(given).filter((name) => !names.includes(name));
  const listed =
    own.length > 0
      ? `the app has ${own.join(', ')}, and .env.example lists the others`
      : '.env.example lists them';
  if (odd.length > 0) throw new TypeError(`there is no setting ${odd.join(', ')}: ${listed}`);
  return {
    handlers,
    routes,
    settings: schema && parseSettings(schema, given, TOLD),
    start: 'resources' in options ? () => ({ app: options.resources }) : start,
  };
}

function definitionOf({ handlers, app }: KitOptions): Omit<DefinedApp, 'handlers'> & { handlers: Handlers } {
  if (app === undefined)
    return { handlers: (typeof handlers === 'function' ? handlers() : handlers) as Handlers };
  const made: unknown = typeof app === 'function' ? app() : app;
  if (isPromise(made))
    throw new TypeError('app is a promise: await it, and give testReceiver what it resolves to');
  // What `start` gives goes to its handlers as it is.
  return made as ReturnType<typeof definitionOf>;
}

function checkHandlers(made: unknown): void {
  if (isPromise(made))
    throw new TypeError('handlers are a promise: await it, and give testReceiver what it resolves to');
  if (typeof made !== 'object' || made === null)
    throw new TypeError(
      'handlers must be an object, as defineHandlers makes it, or a function that gives one',
    );
  const mistake = mistakeInHandlers(made);
  if (mistake !== undefined) throw new TypeError(`there is ${mistake}`);
}

/** @throws KitError CONFIG_INVALID on a value that is not valid */
export function configOf({ settings = {} }: KitOptions): Config {
  return parseConfig({ INSTANCE_NAME: INSTANCE, ...settings }, TOLD);
}
