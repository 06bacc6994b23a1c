import { isoOrNull } from '../../store/queue/lists/event-json.ts';
import { type Known, lookAt, type Sources, shownOf } from '../api/stats.ts';
import { duration } from '../pages/words.ts';
import { comingIn } from './coming-in.ts';
import { type Concern, type Found, since } from './concern.ts';
import { handling } from './handling.ts';
import { keeping } from './keeping.ts';
import { processes } from './processes.ts';

/** What is known of the service, and what of that needs attention. */
export async function stats(sources: Sources) {
  const known = await lookAt(sources);
  return { ...shownOf(known), concerns: concernsOf(known), well: wellOf(known) };
}

/** The problems, the gravest first; none if all is well. Each ends when its advice is followed. */
export function concernsOf(known: Known): Concern[] {
  const about = (path: string, found: Found) =>
    found.map((one) => one && { path, grave: true, ...one, since: isoOrNull(one.since) });
  return [
    ...about('./#kept', keeping(known)),
    ...about('problems', handling(known)),
    ...about('./#instances', processes(known)),
    ...about('refused', comingIn(known)),
  ]
    .filter((found) => found !== false)
    .toSorted((one, other) => Number(other.grave) - Number(one.grave));
}

/** What is said where nothing needs attention: when something came last. */
function wellOf({ lastAt, now }: Known): string {
  if (lastAt === undefined) return 'Nothing has come in yet.';
  return `No event is dead, and none has waited for long. The newest notification came ${duration(since(lastAt, now))} ago.`;
}
