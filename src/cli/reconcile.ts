import type { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { MOMENTS } from '../base/duration.ts';
import { KitError } from '../base/errors.ts';
import { missedBy, passText } from '../passes.ts';
import { reconcileOnce } from '../reconcile/index.ts';
import { withDatabase } from '../store/open.ts';
import { iso } from '../store/queue/lists/event-json.ts';
import { change } from './change.ts';
import { interruptible } from './interruptible.ts';
import { configOf, moment, wholeNumber } from './options.ts';
import { printResult } from './output.ts';
import { withHandlers } from './with-handlers.ts';

type Flags = Partial<Record<'since' | 'most', number> & Record<'dryRun' | 'json', true>>;

/** Looks once for what never came, beside the passes of the server. */
export function addReconcile(program: Command): void {
  program
    .command('reconcile')
    .description('Ask your app which notifications should have come (`reconcile`); record the missing ones.')
    .option('--dry-run', 'only count the missing notifications')
    .option('--since <time>', `ask for notifications since ${MOMENTS} (default: as the next pass)`, moment)
    .option('--most <number>', 'if more are missing, record none (default: as the app says)', wholeNumber())
    .action(reconcile);
}

async function reconcile({ dryRun: isTrial, json, ...limits }: Flags, command: Command): Promise<void> {
  const config = configOf(command);
  const pass = await withDatabase(config, (store) =>
    withHandlers(config, store, ({ app: { reconcile: own, value }, log }) => {
      if (!own) throw new KitError('INPUT_INVALID', 'the app has no `reconcile`: see docs/reconcile.md');
      return interruptible('nothing was recorded', (signal) => {
        const needs = { store, log, clock: systemClock, signal };
        const once = async () => {
          const pass = await reconcileOnce(own, value, needs, { ...limits, isTrial });
          return { ...pass, events: pass.isRecorded ? missedBy(pass) : 0 }; // `events`: for the audit
        };
        return isTrial ? once() : change(store, command, once);
      });
    }),
  );
  const { expected, since, missing, quarantined, events: recorded } = pass;
  const value = { since: iso(since), expected, missing, quarantined, recorded };
  await printResult(json, value, passText(pass));
  if (isTrial || pass.isRecorded) return;
  const more = 'more than `most` are missing, and none was recorded: look at the time zone of event_time';
  throw new KitError('CHECK_FAILED', `${more}; --most N records them`);
}
