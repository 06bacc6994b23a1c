import { KitError } from '../../src/base/errors.ts';
import type { EventStore } from '../../src/store/event-store.ts';

type Method = Exclude<keyof EventStore, 'close' | 'runs'>;

/** A store whose calls a test can count, hold up and make fail. */
export interface WatchedStore {
  readonly store: EventStore;
  /** Whether no call is under way. */
  isIdle(): boolean;
  /** From now on, awaits `before` ahead of each call of a method; if that throws, the call fails in this way. */
  intercept(method: Method, before: () => Promise<void> | void): void;
  /** The next call of a method does what it does, and fails: its answer is lost. */
  loseAnswer(method: Method): void;
}

/** @param runs where the store says that it works */
export function watch(watched: EventStore, runs = watched.runs): WatchedStore {
  const before = new Map<PropertyKey, () => Promise<void> | void>();
  const losing = new Set<PropertyKey>();
  let underWay = 0;
  const store = new Proxy(watched, {
    get(target, name) {
      if (name === 'runs') return runs;
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function') return method;
      return async (...given: readonly unknown[]): Promise<unknown> => {
        underWay++;
        try {
          await before.get(name)?.();
          const answer: unknown = await Reflect.apply(method, target, given);
          if (losing.delete(name)) throw new KitError('STORE_UNAVAILABLE', 'the connection was lost');
          return answer;
        } finally {
          underWay--;
        }
      };
    },
  });
  return {
    store,
    isIdle: () => underWay === 0,
    intercept: (method, first) => void before.set(method, first),
    loseAnswer: (method) => void losing.add(method),
  };
}
