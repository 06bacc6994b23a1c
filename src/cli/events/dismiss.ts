import { type Command, Option } from 'commander';
import { KitError } from '../../base/errors.ts';
import { plural } from '../../base/text.ts';
import { withDatabase } from '../../store/open.ts';
import { bulkFilter } from '../../store/queue/lists/search.ts';
import { change } from '../change.ts';
import { configOf, FILTER_FLAGS, type FilterFlags, filterOf, withFilter } from '../options.ts';
import { printResult, progress, say } from '../output.ts';

type Flags = FilterFlags & { reason: string; all?: true; dryRun?: true; json?: true };

export function addDismiss(events: Command): void {
  withFilter(events.command('dismiss'))
    .description('Dismiss events that are dead or pending: no handler runs for them any more.')
    .requiredOption('--reason <text>', 'why: lists show it in place of the last error')
    .addOption(new Option('--all', 'dismiss all dead and pending events').conflicts(FILTER_FLAGS))
    .option('--dry-run', 'only count the events')
    .action(dismiss);
}

async function dismiss({ reason, all, dryRun, json, ...flags }: Flags, command: Command): Promise<void> {
  const isMeant = all || dryRun || FILTER_FLAGS.some((name) => command.getOptionValue(name) !== undefined);
  if (!isMeant) throw new KitError('INPUT_INVALID', 'this would dismiss everything: give a filter, or --all');
  await withDatabase(configOf(command), async (store) => {
    const filter = await bulkFilter(store, 'dismiss', filterOf(flags), flags.subscriber);
    if (dryRun) {
      const { dismissible } = await store.queue.tally(filter);
      const text = `${plural(dismissible, 'event')} would be dismissed`;
      return printResult(json, { dry_run: true, dismissible }, text);
    }
    const stage = progress('dismissed');
    const onStep = (ids: readonly string[]) => stage.step(ids);
    const dismissing = change(store, command, () => store.queue.dismiss(filter, reason, { onStep }));
    const { events: dismissed, left: running } = await dismissing.finally(stage[Symbol.dispose]);
    await printResult(json, { dismissed, running }, `${plural(dismissed, 'event')} dismissed`);
    if (running > 0) say(`${plural(running, 'more is', 'more are')} left out, as handlers run them`);
  });
}
