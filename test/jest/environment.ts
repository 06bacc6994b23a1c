import { flushCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import type { JestEnvironment, JestEnvironmentConfig } from '@jest/environment';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';
import { endWhatIsLeft } from './left-behind.ts';

/** As V8 has them by itself. With others it takes no code from the cache, so that each thread would compile all anew. */
const CHANGED_FLAGS = ['--semi-space-growth-factor=2', '--no-expose-gc'];

/**
 * Tests run in the context of their process, not in one of `node:vm`: Node loads what they import, once a process,
 * and a global is no property of a proxy. What a suite changes of its process is reset after it.
 */
export default class ProcessEnvironment implements JestEnvironment {
  // The index signature of Jest's type is the only difference: https://jestjs.io/docs/configuration#testenvironment-string
  readonly global = globalThis as unknown as JestEnvironment['global'];
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly #env = { ...process.env };
  readonly #console = console;
  readonly #exit = process.exit;
  readonly #exitCode = process.exitCode;

  constructor({ projectConfig }: JestEnvironmentConfig) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup(): Promise<void> {}

  async teardown(): Promise<void> {
    endWhatIsLeft();
    this.moduleMocker.restoreAllMocks();
    this.fakeTimersModern.dispose();
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    Object.assign(process.env, this.#env);
    // Jest itself replaces these two for each suite.
    globalThis.console = this.#console;
    process.exit = this.#exit;
    process.exitCode = this.#exitCode;
    for (const flag of CHANGED_FLAGS) setFlagsFromString(flag);
    // Node itself writes it when the process ends. Processes and threads of the suites to come take it from there.
    flushCompileCache();
  }

  getVmContext() {
    return null;
  }
}
