import type { Command } from 'commander';
import { pause, systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { plural } from '../../base/text.ts';
import { pagesOf } from '../../replay/sources.ts';
import type { Status, StoredEvent } from '../../store/event-store.ts';
import { withDatabase } from '../../store/open.ts';
import { change } from '../change.ts';
import { configOf, type FilterFlags, filterOf, lengthOfTime, withFilter } from '../options.ts';
import { printResult, progress } from '../output.ts';

type Flags = FilterFlags & { olderThan: number; dryRun?: true; json?: true };

const PRUNABLE: readonly Status[] = ['handled', 'skipped'];
/** Between two steps another process gets to write. */
const PAUSE_MS = 20;

export function addPrune(events: Command): void {
  withFilter(events.command('prune'))
    .description('Prune events that were handled or skipped long ago: remove their bodies for good.')
    .requiredOption('--older-than <time>', 'prune events that ended longer ago, such as 30d', lengthOfTime)
    .option('--dry-run', 'only count the events')
    .action(prune);
}

async function prune({ olderThan, dryRun, json, ...flags }: Flags, command: Command): Promise<void> {
  const filter = filterOf(flags);
  if (flags.status !== undefined && !PRUNABLE.includes(flags.status))
    throw new KitError('INPUT_INVALID', `${flags.status} events are not pruned: leave --status out`);
  const before = systemClock.now() - olderThan;
  await withDatabase(configOf(command), async (store) => {
    const work = async () => {
      using stage = progress('pruned');
      let pruned = 0;
      for await (const page of pagesOf(store, filter)) {
        const seqs = page.filter((event) => isPrunable(event, before)).map(({ seq }) => seq);
        if (seqs.length === 0) continue;
        pruned += dryRun ? seqs.length : await store.queue.prune({ before, limit: seqs.length, among: seqs });
        stage.show(pruned, undefined);
        if (!dryRun) await pause(systemClock, PAUSE_MS);
      }
      return pruned;
    };
    const pruned = await (dryRun ? work() : change(store, command, work));
    const text = `${plural(pruned, 'event')} ${dryRun ? 'would be pruned' : 'pruned'}`;
    await printResult(json, { pruned, dry_run: dryRun === true }, text);
  });
}

function isPrunable({ status, handledAt, body }: StoredEvent, before: number): boolean {
  return PRUNABLE.includes(status) && body !== undefined && (handledAt ?? before) < before;
}
