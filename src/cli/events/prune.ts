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
import { listenerOnStderr } from './progress-bar.ts';

interface Flags extends FilterFlags {
  readonly olderThan: number;
  readonly dryRun?: true;
  readonly json?: true;
}

const EXAMPLES = `
Pruning removes bodies, attempts and the results of ctx.once. The events stay known, so that a repeat is still a duplicate; but
they can no longer be replayed or exported. Pending, running and dead events stay as they are.

Examples:
  npx hookkit events prune --older-than 30d --dry-run
  npx hookkit events prune --older-than 30d
  npx hookkit events prune --older-than 7d --kind media_updated`;

/** Small steps with pauses between them, so that acks do not wait. */
const STEP = 200;
const PAUSE_MS = 20;

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
  const stage = listenerOnStderr().begin('pruned');
  let pruned = 0;
  const step = async (ids?: readonly string[]) => {
    const count = await store.prune(before, STEP, ids);
    pruned += count;
    stage.show(pruned, undefined);
    await pause(systemClock, PAUSE_MS, signal);
    return count;
  };
  if (isRestricted(filter)) {
    // The search reads on its own connection: on the writing one, acks would wait for it.
    for await (const page of pagesOf(store, filter)) {
      const ids = page.filter(isPrunable(before)).map(({ id }) => id);
      if (signal.aborted) break;
      if (ids.length > 0) while (!signal.aborted && (await step(ids)) === STEP);
    }
  } else while (!signal.aborted && (await step()) === STEP);
  stage.end();
  return pruned;
}

function isPrunable(before: number): (event: StoredEvent) => boolean {
  return ({ status, handledAt, body }) =>
    (status === 'handled' || status === 'skipped') && body !== undefined && (handledAt ?? before) < before;
}
