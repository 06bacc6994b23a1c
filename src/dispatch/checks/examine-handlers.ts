import type { Logger } from 'pino';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { type Finding, findingsOf } from '../../base/finding.ts';
import type { Config } from '../../config.ts';
import { handlersFile } from '../load-handlers.ts';
import { appPages, openApp, type ReadyApp } from '../open-app.ts';
import { checkApp, checkKinds } from './check-app.ts';
import { checkImports } from './check-imports.ts';
import { checkSteps, type Interruptible } from './check-steps.ts';
import { checkTypes } from './check-types.ts';

interface Examination {
  /** whether a kind without a handler is a failure */
  readonly isStrict: boolean;
  readonly log: Logger;
  /** runs the handler of each kind once, for real, each as such a work; without it, none runs */
  readonly rehearsal?: Interruptible | undefined;
}

/** Runs all checks of the handlers, one after another. A problem is a finding, never an error. */
export async function* examineHandlers(
  config: Config,
  { isStrict, log, rehearsal }: Examination,
): AsyncGenerator<Finding, void, undefined> {
  const { loaded, ready, findings } = await checkApp(config, log);
  yield* findings;
  if (!loaded) return yield findingsOf('everything else').skipped('it needs handlers that load');
  const file = handlersFile(config);
  yield checkKinds(loaded.handlers, isStrict);
  yield await checkTypes(file);
  yield checkImports(file);
  const steps = findingsOf('steps');
  if (!rehearsal) yield steps.skipped('--rehearse runs the handlers, and checks the names of steps');
  else if (!ready) yield steps.skipped('it needs settings without mistakes');
  else yield* rehearsed(ready, config, { log, rehearsal });
}

/** Routes are only mounted: nobody asks for a page. */
const NO_STATE = { state: async () => [], states: async () => ({ values: [], next: undefined }) };

async function* rehearsed(
  app: ReadyApp,
  config: Config,
  { log, rehearsal }: { readonly log: Logger; readonly rehearsal: Interruptible },
): AsyncGenerator<Finding> {
  const finding = findingsOf('app');
  const opened = await openApp(app, { log, clock: systemClock }).catch(messageOf);
  if (typeof opened === 'string') return yield finding.fail(opened);
  try {
    const pages = await appPages(app, { opened, store: NO_STATE, log, clock: systemClock }).catch(messageOf);
    if (typeof pages === 'string') yield finding.fail(pages);
    yield* checkSteps(app.handlers, { config, app: opened.value, log, rehearsal });
  } finally {
    await opened.close();
  }
}
