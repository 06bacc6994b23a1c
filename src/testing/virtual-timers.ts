import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';

/** The machine's time, also where a test has faked the global timers. */
export const machine = { sleep, monotonic: () => performance.now() };

/**
 * Waits so many real milliseconds, or until nothing but unref'd timers is left in this process.
 * @returns whether that is so: then only virtual time can wake a handler that waits
 */
export function isAtRest(ms: number): Promise<boolean> {
  const over = new AbortController();
  const atRest = once(process, 'beforeExit', over).then(() => true); // Node emits it where it would end
  return Promise.race([atRest, sleep(ms, false, { ref: false })]).finally(() => over.abort());
}

/**
 * The clock by which the timers and dates of the code that runs go, with all that it sets off, once `routeTimers` was called; without one,
 * they are those of the test: the machine's, or fakes.
 */
export const timeScope = new AsyncLocalStorage<Clock | undefined>();
const LONGEST_MS = 2 ** 31 - 1;
/** what ends virtual timers */
const ends = new WeakMap<object, () => void>();
let users = 0;
let restore = () => {};

/** Lets global timers and `Date` go by the clock of the code that asks them. @returns what ends that */
export function routeTimers(): () => void {
  if (users++ === 0) restore = route();
  return () => {
    if (--users === 0) restore();
  };
}

function route(): () => void {
  const given = { setTimeout, setInterval, clearTimeout, clearInterval, Date };
  const now = () => timeScope.getStore()?.now() ?? given.Date.now();
  const clear: typeof clearTimeout = (timer) => {
    ends.get(Object(timer))?.();
    given.clearTimeout(timer); // which ends intervals, too
  };
  const ours: typeof given = {
    setTimeout: new Proxy(given.setTimeout, starting('once')),
    setInterval: new Proxy(given.setInterval, starting('again')),
    clearTimeout: clear,
    clearInterval: clear,
    Date: new Proxy(given.Date, {
      get: (date, name) => (name === 'now' ? now : Reflect.get(date, name)),
      construct: (date, input, made) => Reflect.construct(date, input.length > 0 ? input : [now()], made),
    }),
  };
  Object.assign(globalThis, ours);
  return () => {
    // Not where a fake of the test stands in its place by now, which is the test's to take back.
    for (const [name, value] of Object.entries(given)) {
      if (Reflect.get(globalThis, name) === Reflect.get(ours, name)) Reflect.set(globalThis, name, value);
    }
  };
}

const starting = (often: 'once' | 'again'): ProxyHandler<typeof setTimeout & typeof setInterval> => ({
  apply(start, self, [fn, ms, ...input]) {
    const clock = timeScope.getStore();
    if (!clock) return Reflect.apply(start, self, [fn, ms, ...input]);
    const timer: NodeJS.Timeout = timeScope.exit(() => Reflect.apply(start, self, [() => {}, LONGEST_MS]));
    const fire = AsyncLocalStorage.bind(() => {
      if (often === 'again') begin();
      else clearTimeout(timer);
      fn(...input);
    });
    const begin = () => ends.set(timer, clock.after(ms >= 1 && ms <= LONGEST_MS ? Number(ms) : 1, fire));
    begin();
    return timer.unref();
  },
});
