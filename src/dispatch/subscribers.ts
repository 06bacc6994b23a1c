import { KitError } from '../base/errors.ts';
import { kindNames } from '../notification/kinds.ts';
import { ofSubscriber } from '../store/stored.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import type { DefinedApp, Handlers } from './handler.ts';
import type { RunningApp } from './run-handler.ts';

type App = RunningApp & Pick<DefinedApp, 'subscribers'>;

/** The apps to run: the handlers without a name, and each subscriber with its own. */
export function appsOf<A extends App>(app: A): (A & { readonly subscriber: string })[] {
  const named = Object.entries(app.subscribers ?? {}).map(([subscriber, { handlers, limits }]) => {
    return { ...app, subscriber, handlers, limits };
  });
  return [{ ...app, subscriber: '' }, ...named];
}

/**
 * The app of one subscriber, or of the handlers without a name.
 * @throws KitError INPUT_INVALID, naming those that the app has, if it is not among them
 */
export function appOf<A extends App>(app: A, subscriber: string): A & { readonly subscriber: string } {
  const all = appsOf(app);
  const found = all.find((one) => one.subscriber === subscriber);
  if (found) return found;
  const names = Object.keys(app.subscribers ?? {}).join(', ');
  throw new KitError('INPUT_INVALID', `the app has no subscriber ${subscriber}: it has ${names || 'none'}`);
}

/** The kinds that nobody has a handler for. */
export function lackingKinds(app: App): string[] {
  const apps = appsOf(app);
  return kindNames.filter((kind) => !apps.some(({ handlers }) => handlers[kind]));
}

/** The slots that there are handlers for. */
export const slotsOf = (handlers: Handlers<never>): string[] =>
  Object.entries(handlers).flatMap(([slot, handler]) => (handler ? slot : []));

/** The same as processes tell them: one of a subscriber ends in `@NAME`. */
export const kindsOf = (app: App): string[] =>
  appsOf(app).flatMap(({ subscriber, handlers }) =>
    slotsOf(handlers).map((slot) => ofSubscriber(slot, subscriber)),
  );

export type Dispatchers = ReturnType<typeof together>;

/**
 * A dispatcher for the handlers without a name and one for each subscriber, with places of their own. From now on the store makes events
 * for the subscribers. They are started once.
 */
export async function dispatchersOf({
  app,
  ...options
}: Omit<DispatcherOptions, 'app'> & { readonly app: App }) {
  const apps = appsOf(app);
  for (const { subscriber, handlers } of apps)
    if (subscriber) await options.store.queue.subscribe({ subscriber, kinds: slotsOf(handlers) });
  return together(apps.map((one) => new Dispatcher({ ...options, app: one })));
}

/** Several dispatchers as one. */
export function together(all: readonly Dispatcher[]) {
  return {
    /** How many handlers run. */
    get running(): number {
      return all.reduce((sum, { running }) => sum + running, 0);
    },
    start(): void {
      for (const one of all) one.start();
    },
    /** This process has just recorded an event. */
    came(): void {
      for (const one of all) one.came();
    },
    /** Events may be ready. */
    wake(): void {
      for (const one of all) one.wake();
    },
    /** Stops them all, as Dispatcher.stop does, and throws what the first of them throws once all have stopped. */
    async stop(graceMs: number): Promise<void> {
      const stopped = await Promise.allSettled(all.map((one) => one.stop(graceMs)));
      for (const one of stopped) if (one.status === 'rejected') throw one.reason;
    },
  };
}
