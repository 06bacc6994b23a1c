import { kindNames } from '../notification/kinds.ts';
import { ofSubscriber } from '../store/stored.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import { type Handlers, schedulesOf } from './handler.ts';
import type { RunningApp } from './run-handler.ts';

/** The apps to run: the handlers without a name, and each subscriber with its own. */
export function appsOf<A extends RunningApp>(app: A): (A & { readonly subscriber: string })[] {
  const ticks = Object.entries(app.schedule ?? {}).map(([name, { run }]) => [`schedule:${name}`, run]);
  const main = { ...app, subscriber: '', handlers: { ...app.handlers, ...Object.fromEntries(ticks) } };
  const others = Object.entries(app.subscribers ?? {}).map(([subscriber, { handlers, limits }]) => {
    return { ...app, subscriber, handlers, limits, schedule: undefined };
  });
  return [main, ...others];
}

/** The kinds that nobody has a handler for. */
export function lackingKinds(app: RunningApp): string[] {
  const apps = appsOf(app);
  return kindNames.filter((kind) => !apps.some(({ handlers }) => handlers[kind]));
}

/** The slots that there are handlers for. */
export const slotsOf = (handlers: Handlers<never>): string[] =>
  Object.entries(handlers).flatMap(([slot, handler]) => (handler ? slot : []));

/** Those of notifications alone: a subscriber's events are made of these. */
export const sentSlotsOf = (handlers: Handlers<never>) =>
  slotsOf(handlers).filter((slot) => slot !== 'reminder');

export type Dispatchers = ReturnType<typeof together>;

/**
 * A dispatcher for the handlers without a name and one for each subscriber, with places of their own. From now on the store makes events
 * for the subscribers. They are started once.
 */
export async function dispatchersOf({ app, ...options }: DispatcherOptions) {
  const { queue } = options.store;
  const apps = appsOf(app);
  for (const { subscriber, handlers } of apps)
    if (subscriber) await queue.subscribe({ subscriber, kinds: sentSlotsOf(handlers) });
  await queue.schedule({ list: schedulesOf(app) });
  /** the slots that there are handlers for; one of a subscriber ends in `@NAME` */
  const kinds = apps.flatMap(({ subscriber, handlers }) =>
    slotsOf(handlers).map((slot) => ofSubscriber(slot, subscriber)),
  );
  return { ...together(apps.map((one) => new Dispatcher({ ...options, app: one }))), kinds };
}

/** Several dispatchers as one. */
export function together(all: readonly Dispatcher[]) {
  const each = (tell: (one: Dispatcher) => void) => () => all.forEach(tell);
  return {
    /** How many handlers run. */
    running: () => all.reduce((sum, one) => sum + one.running(), 0),
    start: each((one) => one.start()),
    /** This process has just recorded an event. */
    came: each((one) => one.came()),
    /** Something may be due or ready. */
    wake: each((one) => one.wake()),
    /** Stops them all, as Dispatcher.stop does, and throws what the first of them throws once all have stopped. */
    async stop(graceMs: number): Promise<void> {
      const stopped = await Promise.allSettled(all.map((one) => one.stop(graceMs)));
      for (const one of stopped) if (one.status === 'rejected') throw one.reason;
    },
  };
}
