import { createRequire } from 'node:module';

// Its types are those of a CommonJS module, whose default an import would take for the whole of it.
type Runner = typeof import('jest-runner', { with: { 'resolution-mode': 'require' }});
const { default: TestRunner }: Runner = createRequire(import.meta.url)('jest-runner');

/** Runs suites one after the other, for those that measure. */
export default class OneAtATime extends TestRunner {
  /** Jest asks a runner for this. */
  override readonly isSerial = true;
}
