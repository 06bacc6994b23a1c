import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { loadConfig } from '../../config.ts';
import { pagesOf } from '../../replay/database-source.ts';
import { pause } from '../../replay/pause.ts';
import type { EventFilter, EventStore, StoredEvent } from '../../store/event-store.ts';
import { duration } from '../duration.ts';
import { interruptible } from '../interruptible.ts';
import { say, write } from '../print.ts';
import { addFilterOptions, type FilterFlags, filterOf, isRestricted } from './filter-options.ts';
import { withDatabase } from './open-database.ts';
import { Progress } from './progress-bar.ts';

interface Flags extends FilterFlags {
  readonly olderThan: number;
  readonly dryRun?: true;
  readonly json?: true;
}

const EXAMPLES = `
Removes bodies, attempts and the results of ctx.once. The events themselves stay known, so that one that comes again is
still a duplicate; but they cannot be replayed or exported any more. Pending, running and dead events are left alone.

Examples:
  npx hookkit events prune --older-than 30d --dry-run
  npx hookkit events prune --older-than 30d
  npx hookkit events prune --older-than 7d --kind media_updated`;

/** Small steps with pauses between them, so that acks hardly notice. */
const STEP = 200;
const PAUSE_MS = 20;

export function pruneCommand(): Command {
  return addFilterOptions(new Command('prune'))
    .description('Remove the bodies of events that were handled or skipped long ago.')
    .requiredOption(
      '--older-than <time>',
      'handled or skipped longer ago than this, such as 30d or 12h',
      duration,
    )
    .option('--dry-run', 'only say how many events it would be')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(prune);
}

async function prune({ olderThan, dryRun, json, ...flags }: Flags): Promise<void> {
  const filter = filterOf(flags);
  const before = systemClock.now() - olderThan;
  await withDatabase(loadConfig(), (store) =>
    interruptible('run it again to prune the rest', async (signal) => {
      const pruned = await (dryRun
        ? countPrunable(store, filter, before)
        : pruneAll({ store, filter, before, signal }));
      const result = `${pruned} events ${dryRun ? 'would be' : 'were'} pruned`;
      if (signal.aborted) say(result);
      signal.throwIfAborted();
      await write(json ? `${JSON.stringify({ pruned, dry_run: dryRun === true })}\n` : `${result}\n`);
    }),
  );
}

async function countPrunable(store: EventStore, filter: EventFilter, before: number): Promise<number> {
  let count = 0;
  for await (const page of pagesOf(store, filter)) count += page.filter(isPrunable(before)).length;
  return count;
}

interface Pruning {
  readonly store: EventStore;
  readonly filter: EventFilter;
  readonly before: number;
  readonly signal: AbortSignal;
}

async function pruneAll({ store, filter, before, signal }: Pruning): Promise<number> {
  const progress = new Progress({ verb: 'pruned' });
  let pruned = 0;
  const step = async (ids?: readonly string[]) => {
    const count = await store.prune(before, STEP, ids);
    pruned += count;
    progress.show(pruned, undefined);
    await pause(PAUSE_MS, signal);
    return count;
  };
  if (isRestricted(filter)) {
    // Searched for on the reading side: a search on the writing side would hold up acks.
    for await (const page of pagesOf(store, filter)) {
      const ids = page.filter(isPrunable(before)).map(({ id }) => id);
      if (signal.aborted) break;
      if (ids.length > 0) while (!signal.aborted && (await step(ids)) === STEP);
    }
  } else while (!signal.aborted && (await step()) === STEP);
  progress.end();
  return pruned;
}

function isPrunable(before: number): (event: StoredEvent) => boolean {
  return ({ status, handledAt, body }) =>
    (status === 'handled' || status === 'skipped') && body !== undefined && (handledAt ?? before) < before;
}
