import type { Config } from '@jest/types';
import type ProcessEnvironment from './environment.ts';

// What `import ... from '@jest/globals'` gives to tests; runner.ts leads the import here, and types are those of the package.

type Global = (...given: readonly unknown[]) => unknown;

interface Suite {
  readonly globals: Readonly<Record<string, Global>>;
  readonly environment: ProcessEnvironment;
}

let running: Suite | undefined;

/** Makes the globals those of this suite. Support modules are loaded once and serve all suites of a process. */
export function setSuite(suite: Suite): void {
  running = suite;
}

function suite(): Suite {
  if (!running) throw new Error('@jest/globals works only while a suite runs');
  return running;
}

function ofSuite(name: string): Global {
  const current = (): Global => {
    const global = suite().globals[name];
    if (!global) throw new Error(`Jest has no ${name}`);
    return global;
  };
  return new Proxy<Global>(() => {}, {
    apply: (_target, self, given) => Reflect.apply(current(), self, given),
    get: (_target, member) => Reflect.get(current(), member),
  });
}

export const expect = ofSuite('expect');
export const describe = ofSuite('describe');
export const test = ofSuite('test');
export const it = ofSuite('it');
export const beforeAll = ofSuite('beforeAll');
export const beforeEach = ofSuite('beforeEach');
export const afterAll = ofSuite('afterAll');
export const afterEach = ofSuite('afterEach');

/** The `jest` object without mocks of modules: modules are Node's own, so none can be replaced. */
export const jest = {
  get fn() {
    const { moduleMocker } = suite().environment;
    return moduleMocker.fn.bind(moduleMocker);
  },
  get spyOn() {
    const { moduleMocker } = suite().environment;
    return moduleMocker.spyOn.bind(moduleMocker);
  },
  restoreAllMocks: () => suite().environment.moduleMocker.restoreAllMocks(),
  useFakeTimers: (options?: Config.FakeTimersConfig) =>
    suite().environment.fakeTimersModern.useFakeTimers(options),
  useRealTimers: () => suite().environment.fakeTimersModern.useRealTimers(),
  advanceTimersByTime: (ms: number) => suite().environment.fakeTimersModern.advanceTimersByTime(ms),
  setTimeout: (ms: number) => Reflect.set(globalThis, SUITE_TIMEOUT, ms),
};

/** Where Jest looks for the time limit that a suite sets for its tests. */
export const SUITE_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');
