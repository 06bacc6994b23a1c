import { ofSubscriber } from '../store/stored.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';

export type Dispatchers = Awaited<ReturnType<typeof dispatchersOf>>;

/**
 * A dispatcher for the handlers without a name and one for each subscriber, with places of their own. From now on the store makes events
 * for the subscribers. They are started once.
 */
export async function dispatchersOf({ app, ...options }: DispatcherOptions) {
  const all: Dispatcher[] = [];
  /** the slots that there are handlers for; one of a subscriber ends in `@NAME` */
  const kinds: string[] = [];
  for (const [subscriber, { handlers, limits }] of Object.entries({ '': app, ...app.subscribers })) {
    const slots = Object.entries(handlers).flatMap(([slot, handler]) => (handler ? slot : []));
    if (subscriber) await options.store.queue.subscribe({ subscriber, kinds: slots });
    all.push(new Dispatcher({ ...options, app: { ...app, subscriber, handlers, limits } }));
    kinds.push(...slots.map((slot) => ofSubscriber(slot, subscriber)));
  }
  const each = (tell: (one: Dispatcher) => void) => () => {
    for (const one of all) tell(one);
  };
  return {
    kinds,
    /** How many handlers run. */
    running: () => all.reduce((sum, { running }) => sum + running, 0),
    start: each((one) => one.start()),
    /** This process has just recorded an event. */
    came: each((one) => one.came()),
    /** Events may be ready. */
    wake: each((one) => one.wake()),
    /** Stops them all, as Dispatcher.stop does, and throws what the first of them throws once all have stopped. */
    async stop(graceMs: number): Promise<void> {
      const stopped = await Promise.allSettled(all.map((one) => one.stop(graceMs)));
      for (const one of stopped) if (one.status === 'rejected') throw one.reason;
    },
  };
}
