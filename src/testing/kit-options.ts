import { type Config, parseConfig, variableNames } from '../config.ts';
import type { Handlers } from '../dispatch/handler.ts';

export interface KitOptions {
  /**
   * what is tested; or what makes it, called whenever the process starts: then what handlers keep in memory is gone after a
   * crash, as it is in production
   */
  readonly handlers: Handlers | (() => Handlers);
  /** where events are kept: in memory, or in a file as a server has it; `memory` without it */
  readonly store?: 'memory' | 'sqlite';
  /** variables of the environment, such as `{ RETRY_MAX_ATTEMPTS: '3' }`; all others have their defaults */
  readonly settings?: Readonly<Record<string, string>>;
  /** whether handlers have `ctx.statuses`, over the mock's statuses API; they do without it */
  readonly statuses?: boolean;
  /** how long a handler may take in real time until `settled` throws, in milliseconds; 3000 without it */
  readonly patienceMs?: number;
}

/** @throws TypeError on options that the compiler would refuse */
export function checkOptions(options: KitOptions): void {
  if (typeof options !== 'object' || options === null) throw new TypeError('testReceiver takes { handlers }');
  if (typeof options.handlers !== 'function') handlersOf(options);
  const { store = 'memory' } = options;
  if (store !== 'memory' && store !== 'sqlite')
    throw new TypeError(`store is memory or sqlite, not ${store}`);
}

/** The handlers of a process that starts. @throws TypeError on anything but handlers */
export function handlersOf({ handlers }: KitOptions): Handlers {
  const made = typeof handlers === 'function' ? handlers() : handlers;
  const isObject = typeof made === 'object' && made !== null;
  if (!isObject)
    throw new TypeError(
      'handlers must be an object, as defineHandlers makes it, or a function that gives one',
    );
  const [odd] =
    Object.entries(made).find(([, handler]) => handler !== undefined && typeof handler !== 'function') ?? [];
  if (odd !== undefined) throw new TypeError(`the handler for ${odd} is not a function`);
  return made;
}

/** @throws KitError CONFIG_INVALID on a value that is not valid; TypeError on a name that is none */
export function configOf({ settings = {} }: KitOptions): Config {
  const names: readonly string[] = variableNames;
  const odd = Object.keys(settings).filter((name) => !names.includes(name));
  if (odd.length > 0) throw new TypeError(`there is no setting ${odd.join(', ')}: .env.example lists them`);
  return parseConfig(settings, 'settings of testReceiver');
}
