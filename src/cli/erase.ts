import type { Command } from 'commander';
import { type Clock, pause, systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import { pagesOf } from '../replay/sources.ts';
import type { Erasure, EventStore, StoreReader } from '../store/event-store.ts';
import { withReader } from '../store/open.ts';
import { changing } from './change.ts';
import { configOf } from './options.ts';
import { line, printResult, progress, say } from './output.ts';

type Flags = { site?: string; media?: string; channel?: string; dryRun?: true; json?: true };

/** Between two steps another process gets to write. */
const PAUSE_MS = 50;
/** How long it waits for handlers until it comes back: each time twice as long, a minute in all. */
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 32_000;

const HELP = `
It removes bodies, ids, errors, log lines, steps, state, reminders and entries of the quarantine, for all subscribers. Digests stay,
so that nothing records the events again. It waits a minute for handlers. If one still runs, its media or channel stays, and the
exit code is 1. SQLite rewrites its file. That needs twice its room, and acks wait: docs/operating.md (Personal data) says how long.`;

const UNREACHED = `not reached: backups, recordings and exports; logs and traces; alerts that were posted; other systems that
handlers have written to, and the provider; on PostgreSQL dead rows until a vacuum, and the WAL with its archives and standbys`;

export function addErase(program: Command): void {
  program
    .command('erase')
    .description('Erase everything of a site, media or channel for good. Digests of its events stay.')
    .option('--site <id>', 'erase this site, but no media or channel that also has events of other sites')
    .option('--media <id>', 'erase this media')
    .option('--channel <id>', 'erase this live channel')
    .option('--dry-run', 'only count, and name each media or channel that would be left')
    .addHelpText('after', HELP)
    .action(run);
}

async function run({ site, media, channel, dryRun, json }: Flags, command: Command): Promise<void> {
  if ([site, media, channel].filter((id) => id !== undefined).length !== 1)
    throw new KitError('INPUT_INVALID', 'give one of --site, --media and --channel');
  const what = { site, resource: media === undefined ? channel && `channel:${channel}` : `media:${media}` };
  const { shared, ...done } = await (dryRun
    ? withReader(configOf(command), (store) => foreseen(store, what))
    : changing(command, (store) => erasing(store, what)));
  const text = `${plural(done.events, 'event')} and ${done.quarantined} in quarantine`;
  const told = dryRun ? `${text} would be erased; running now: ${done.running}` : `${text} erased`;
  await printResult(json, { ...done, shared, dry_run: dryRun === true }, told);
  if (shared.length > 0) say(`left alone, as other sites have events of them: ${line(shared.join(', '))}`);
  say(UNREACHED);
  const left = `media or channels left alone, as handlers run: ${done.running}`;
  if (done.running > 0 && !dryRun) throw new KitError('CHECK_FAILED', `${left}; run this again later`);
}

async function erasing(store: EventStore, what: Erasure) {
  using stage = progress('erased');
  const onStep = (events: number) => {
    stage.show(events, undefined);
    return pause(systemClock, PAUSE_MS);
  };
  return await erase(store, what, { clock: systemClock, onStep });
}

/**
 * Erases everything stored of a resource or site: bodies, ids, errors, log lines, steps, state, reminders and entries of the quarantine, of all
 * subscribers. Digests stay, by which repeats, imports and reconciling know it. Nothing is left in the file of SQLite either.
 * @param how `onStep` is told after each step how many events were erased so far; the next step waits for its promise
 * @returns how many events and entries, how many resources are left because a handler runs, and which because they have events of other
 *   sites, too
 * @throws KitError STORE_UNAVAILABLE, or STORE_UNUSABLE where the file of SQLite may still have something
 */
export async function erase(
  store: EventStore,
  what: Erasure,
  { clock, onStep }: { readonly clock: Clock; onStep(events: number): unknown },
) {
  let [events, quarantined] = [0, 0];
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
    quarantined += await store.quarantine.drop({ before: Number.MAX_SAFE_INTEGER, ...what });
    const found = await store.queue.erase(what, (step) => onStep(events + step));
    events += found.events;
    const names = [what.resource ?? `site:${what.site}`, ...found.names];
    await store.reports.hideErased({ names });
    if (found.running === 0 || pauseMs > LAST_PAUSE_MS) {
      await store.compact();
      return { events, quarantined, running: found.running, shared: [...found.shared] };
    }
    await pause(clock, pauseMs);
  }
}

/** How many events an erasure would take, how many of them run now, and which resources it would leave. */
async function foreseen({ queue, quarantine }: StoreReader, what: Erasure) {
  const shared = new Set<string>();
  let events = 0;
  for await (const page of pagesOf({ queue }, what)) {
    const others = what.site === undefined ? [] : await queue.ofOtherSites({ lanes: page, site: what.site });
    for (const other of others) shared.add(other.resource);
    events += page.filter((event) => !shared.has(event.resource)).length;
  }
  const running = await queue.count({ ...what, status: 'running' });
  return { events, quarantined: await quarantine.size(what), running, shared: [...shared] };
}
