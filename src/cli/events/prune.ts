import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { countPrunable, PRUNABLE, pruneMatching } from '../../store/prune-matching.ts';
import { withDatabase } from '../../store/with-store.ts';
import { interruptible } from '../interruptible.ts';
import { duration } from '../option-values.ts';
import { say, write } from '../print.ts';
import { addFilterOptions, type FilterFlags, filterOf } from './filter-options.ts';
import { listenerOnStderr } from './progress-bar.ts';

interface Flags extends FilterFlags {
  readonly olderThan: number;
  readonly dryRun?: true;
  readonly json?: true;
}

const EXAMPLES = `
Pruning removes bodies, attempts and the results of ctx.once, and leaves ctx.state. The events stay known, so that a repeat is
still a duplicate; but they can no longer be replayed or exported. Pending, running and dead events stay as they are, and so
does what ended within the last hour. Once a server or a pruning sees that the clock was set by more than a minute,
nothing is pruned for an hour: events that ended before have times of the old clock.

Examples:
  npx hookkit events prune --older-than 30d --dry-run
  npx hookkit events prune --older-than 30d
  npx hookkit events prune --older-than 7d --kind media_updated`;

export function pruneCommand(): Command {
  return addFilterOptions(new Command('prune'))
    .description('Prune events that were handled or skipped long ago: remove their bodies.')
    .requiredOption(
      '--older-than <time>',
      'prune events handled or skipped longer ago than this, such as 30d or 12h',
      duration,
    )
    .option('--dry-run', 'only count the events')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(prune);
}

async function prune({ olderThan, dryRun, json, ...flags }: Flags): Promise<void> {
  const filter = filterOf(flags);
  if (flags.status !== undefined && !PRUNABLE.includes(flags.status))
    throw new KitError(
      'INPUT_INVALID',
      `${flags.status} events are never pruned: give ${PRUNABLE.join(' or ')}`,
    );
  await withDatabase(loadConfig(), (store) =>
    interruptible('run it again to prune the rest', async (signal) => {
      const pruning = { filter, olderThanMs: olderThan, clock: systemClock };
      const stage = listenerOnStderr().begin('pruned');
      const onStep = (pruned: number) => stage.show(pruned, undefined);
      const pruned = await (dryRun
        ? countPrunable(store, pruning)
        : pruneMatching(store, { ...pruning, signal, onStep }));
      stage.end();
      const result = `${pruned} events ${dryRun ? 'would be' : 'were'} pruned`;
      if (signal.aborted) say(result);
      signal.throwIfAborted();
      await write(json ? `${JSON.stringify({ pruned, dry_run: dryRun === true })}\n` : `${result}\n`);
    }),
  );
}
