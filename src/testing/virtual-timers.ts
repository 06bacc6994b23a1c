import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../base/clock.ts';

/** The clock by which the timers and dates of the code that runs go; without one, they are the machine's. */
const scope = new AsyncLocalStorage<Clock>();
const machines = { setTimeout, setInterval, clearTimeout, clearInterval, Date };
const LONGEST_MS = 2 ** 31 - 1;
/** what ends virtual timers */
const ends = new WeakMap<object, () => void>();
let users = 0;

/** Runs code in the time of a clock, with all that it sets off. `routeTimers` must have been called. */
export function inTimeOf<T>(clock: Clock, work: () => T): T {
  return scope.run(clock, work);
}

/** Lets global timers and `Date` go by the clock of the code that asks them. @returns what ends that */
export function routeTimers(): () => void {
  if (users++ === 0) Object.assign(globalThis, routed());
  return () => {
    if (--users === 0) Object.assign(globalThis, machines);
  };
}

function routed(): typeof machines {
  const now = () => scope.getStore()?.now() ?? machines.Date.now();
  return {
    setTimeout: new Proxy(machines.setTimeout, STARTING),
    setInterval: new Proxy(machines.setInterval, STARTING),
    clearTimeout: new Proxy(machines.clearTimeout, CLEARING),
    clearInterval: new Proxy(machines.clearInterval, CLEARING),
    Date: new Proxy(machines.Date, {
      get: (date, name) => (name === 'now' ? now : Reflect.get(date, name)),
      construct: (date, input, made) => Reflect.construct(date, input.length > 0 ? input : [now()], made),
    }),
  };
}

const STARTING: ProxyHandler<typeof setTimeout & typeof setInterval> = {
  apply(start, self, [fn, ms, ...input]) {
    const clock = scope.getStore();
    if (!clock) return Reflect.apply(start, self, [fn, ms, ...input]);
    const timer: NodeJS.Timeout = Reflect.apply(start, self, [() => {}, LONGEST_MS]);
    const fire = AsyncLocalStorage.bind(() => {
      if (start === machines.setInterval) begin();
      else clearTimeout(timer);
      fn(...input);
    });
    const begin = () => ends.set(timer, clock.after(Number(ms) || 1, fire));
    begin();
    return timer.unref();
  },
};

const CLEARING: ProxyHandler<typeof clearTimeout> = {
  apply(clear, self, [timer]) {
    ends.get(timer)?.();
    Reflect.apply(clear, self, [timer]);
  },
};
