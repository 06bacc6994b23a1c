import type { Logger } from 'pino';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { type Finding, findingsOf } from '../../base/finding.ts';
import type { Config } from '../../config.ts';
import { handlersFile, loadApp } from '../load-handlers.ts';
import { type OpenApp, openApp } from '../open-app.ts';
import { checkApp, checkKinds } from './check-app.ts';
import { checkImports } from './check-imports.ts';
import { checkSteps } from './check-steps.ts';
import { checkTypes } from './check-types.ts';

/** How handlers are rehearsed. */
interface Rehearsing {
  readonly log: Logger;
  /** ends the rehearsal */
  readonly signal: AbortSignal;
}

/**
 * Runs all checks of the handlers, one after another. A problem is a finding, never an error.
 * @param rehearsing runs the handler of each kind once, for real; false: none runs
 */
export async function* examineHandlers(
  config: Config,
  rehearsing: Rehearsing | false,
): AsyncGenerator<Finding, void, undefined> {
  const { app, findings } = await checkApp(config);
  yield* findings;
  if (!app) return yield findingsOf('everything else').skipped('it needs handlers that load');
  const file = handlersFile(config);
  yield checkKinds(app.handlers);
  yield await checkTypes(file);
  yield checkImports(file);
  const steps = findingsOf('steps');
  const isWhole = findings.every(({ result }) => result !== 'FAIL');
  if (!rehearsing) yield steps.skipped('--rehearse runs the handlers, and checks the names of steps');
  else if (!isWhole) yield steps.skipped('it needs settings without mistakes');
  else yield* rehearsed(config, rehearsing);
}

async function* rehearsed(config: Config, { log, signal }: Rehearsing): AsyncGenerator<Finding> {
  const app = await loadApp(config);
  let opened: OpenApp;
  try {
    opened = await openApp(app, { log, clock: systemClock });
  } catch (error) {
    return yield findingsOf('steps').fail(messageOf(error));
  }
  try {
    yield* checkSteps(app.handlers, { config, app: opened.value, log, signal });
  } finally {
    await opened.close();
  }
}
