import { type Snapshot, type Sources, snapshotOf } from '../api/stats.ts';
import { duration } from '../pages/words.ts';
import { comingIn, unproven } from './coming-in.ts';
import { type Concern, since } from './concern.ts';
import { handling } from './handling.ts';
import { keeping } from './keeping.ts';
import { processes } from './processes.ts';

/** What is known of the service, and what of that needs attention. */
export async function stats(sources: Sources, asked = sources.store.reports.overview()) {
  const snapshot = await snapshotOf(sources, asked);
  const now = sources.clock.now();
  return { ...snapshot, concerns: concernsOf(snapshot, now), well: wellOf(snapshot, now) };
}

/** The problems, the gravest first; none if all is well. Each ends when its advice is followed. */
export function concernsOf(snapshot: Snapshot, now: number): Concern[] {
  return [keeping, handling, processes, comingIn, unproven]
    .flatMap((look) => look(snapshot, now))
    .filter((found) => found !== false)
    .toSorted((one, other) => Number(other.grave) - Number(one.grave));
}

/** What is said where nothing needs attention: when something came last. */
function wellOf({ last_recorded_at: last }: Snapshot, now: number): string {
  if (last === null) return 'Nothing has come in yet.';
  return `No event is dead, and none has waited for long. The newest event came ${duration(since(last, now))} ago.`;
}
