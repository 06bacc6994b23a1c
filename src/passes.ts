import { number, plural } from './base/text.ts';
import type { Pass } from './store/event-store.ts';
import { iso } from './store/queue/lists/event-json.ts';

/** How many notifications a pass missed. */
export const missedBy = ({ missing }: Pick<Pass, 'missing'>) =>
  Object.values(missing).reduce((sum, count) => sum + count, 0);

/** The result of a pass, in words. */
export function passText(pass: Pass): string {
  const { since, expected, missing, quarantined, isRecorded } = pass;
  const day = iso(since).slice(0, 16).replace('T', ' ');
  const kinds = Object.entries(missing).map(([kind, count]) => `${number(count)} ${kind}`);
  const came = `had not come, and the pass recorded ${isRecorded ? 'each' : 'none'}`;
  const found = kinds.length > 0 ? `${number(missedBy(pass))} ${came} (${kinds.join(', ')})` : 'all had come';
  const waiting = quarantined > 0 ? `; of these, ${plural(quarantined, 'waits', 'wait')} in quarantine` : '';
  return `Of ${number(expected)} expected since ${day} UTC, ${found}${waiting}`;
}
