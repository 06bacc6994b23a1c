import { type Config, parseConfig, parseSettings, variableNames } from '../config.ts';
import type { DefinedApp, Handlers } from '../dispatch/handler.ts';
import { mistakeIn } from '../dispatch/load-handlers.ts';
import type { ReadyApp } from '../dispatch/open-app.ts';

export interface KitOptions {
  /**
   * the handlers under test, or a function that makes them, called whenever the process starts: then a crash empties the
   * memory of handlers, as it does in production
   */
  readonly handlers?: Handlers<never> | (() => Handlers<never>);
  /** in place of `handlers`: the result of `defineApp`, or a function that makes it. Its `start` runs whenever the process starts */
  readonly app?: DefinedApp | (() => DefinedApp);
  /** the value of `ctx.app`, such as fakes, also with `handlers`; then the `start` of the app does not run */
  readonly resources?: unknown;
  /** variables of the environment, the kit's and the app's, such as `{ RETRY_MAX_ATTEMPTS: '3' }`; all others have their defaults */
  readonly settings?: Readonly<Record<string, string>>;
  /** whether handlers have `ctx.statuses`, over the mock's statuses API; they do without it */
  readonly statuses?: boolean;
  /** the time at which the receiver begins, in milliseconds since the epoch; the year 2026 without it */
  readonly now?: number | undefined;
  /** how long a handler may take in real time until `settled` throws, in milliseconds; 3000 without it */
  readonly patienceMs?: number;
}

/** The options of `hookkit events check`: the `Date` and timers of handlers are virtual, too, and a handler that never ends is given up. */
export type CheckOptions = KitOptions & { readonly isCheck?: boolean };

const TOLD = 'settings of testReceiver';

/**
 * What a process has that starts.
 * @throws TypeError on anything but handlers, or a setting that is none; KitError CONFIG_INVALID on settings that are not valid
 */
export function appOf({ handlers: given, app: made, settings = {}, ...options }: KitOptions): ReadyApp {
  // what they expect of `ctx.app` is in `resources`
  const handlers = (typeof given === 'function' ? given() : given) as Handlers | undefined;
  const own = typeof made === 'function' ? made() : made;
  const mistake = mistakeIn({ app: own, handlers });
  if (mistake !== undefined) throw new TypeError(`the argument of testReceiver ${mistake}`);
  const { settings: schema, ...app } = own ?? { handlers: handlers ?? {} };
  const names = [...variableNames, ...Object.keys(schema?.shape ?? {})];
  const odd = Object.keys(settings).find((name) => !names.includes(name));
  if (odd !== undefined)
    throw new TypeError(`there is no setting ${odd}: .env.example lists those of the kit`);
  return {
    ...app,
    settings: schema && parseSettings(schema, TOLD, settings),
    ...('resources' in options && { start: () => ({ app: options.resources }) }),
  };
}

/**
 * The settings of a process that only the test reaches.
 * @param secret of every webhook: recordings have notifications of others than the kit's own
 * @throws KitError CONFIG_INVALID on a value that is not valid
 */
export function configOf({ settings = {} }: KitOptions, secret: string): Config {
  const own = { WEBHOOK_SECRET: secret, HOST: '127.0.0.1', TRUST_PROXY: '0' };
  return parseConfig({ INSTANCE_NAME: 'test-receiver', ...settings, ...own }, TOLD);
}
