import { createRequire, enableCompileCache, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import type ProcessEnvironment from './environment.ts';
import { isPassedOver } from './full-size-only.ts';
import { SUITE_TIMEOUT, setSuite, test } from './globals.ts';

const require = createRequire(import.meta.url);
const GLOBALS = new URL('globals.ts', import.meta.url).href;
/** Where Jest keeps what listens to the tests of a suite. */
const SUITE_LISTENERS = Symbol.for('EVENT_HANDLERS');

enableCompileCache(process.env.NODE_COMPILE_CACHE);
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context),
});

/** What Jest's own runner of one suite (jest-circus) asks of the runtime that it is given. */
interface Runtime {
  requireInternalModule(path: string): unknown;
  requireModule(path: string): unknown;
  setGlobalsForRuntime(globals: Parameters<typeof setSuite>[0]['globals']): void;
  unstable_shouldLoadAsEsm(path: string): boolean;
  unstable_importModule(path: string): Promise<unknown>;
  enterTestCode(): void;
  leaveTestCode(): void;
}

type RunSuite = (
  globalConfig: object,
  config: object,
  environment: ProcessEnvironment,
  runtime: Runtime,
  path: string,
  report?: (...given: unknown[]) => unknown,
) => Promise<object>;

const { default: runSuite }: { default: RunSuite } = require('jest-circus/runner');

/**
 * Runs one suite with jest-circus, in Node itself in place of Jest's own loader of modules: that one loads all modules
 * of every suite again, in a context whose globals stand behind a proxy, and never gives their memory back.
 * Suites of one process share their modules, so modules keep no state (which the house rules say anyway).
 */
const run: RunSuite = (globalConfig, config, environment, _runtime, path, report) => {
  const runtime: Runtime = {
    requireInternalModule(internal) {
      // The state of a suite's tests is in this module, so each suite gets one of its own.
      delete require.cache[internal];
      Reflect.deleteProperty(globalThis, SUITE_LISTENERS);
      Reflect.deleteProperty(globalThis, SUITE_TIMEOUT);
      return require(internal);
    },
    requireModule: require,
    setGlobalsForRuntime: (globals) => setSuite({ globals, environment }),
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: async (module) => {
      if (module !== path || !isPassedOver(path, globalConfig)) return import(pathToFileURL(module).href);
      // So that Jest counts it among those that were skipped.
      return Reflect.apply(Reflect.get(test, 'skip'), test, ['is run by npm run test:faults', () => {}]);
    },
    enterTestCode() {},
    leaveTestCode() {},
  };
  return runSuite(globalConfig, config, environment, runtime, path, report);
};

export default run;
