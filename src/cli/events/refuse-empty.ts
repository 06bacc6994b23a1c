import { KitError } from '../../base/errors.ts';

interface Emptiness {
  /** how many events match whose bodies were pruned */
  readonly pruned: number;
  /** what would have been done */
  readonly done: 'replayed' | 'sent';
}

/** Where there is nothing to do. @throws KitError REPLAY_FAILED unless that is allowed */
export function refuseEmpty(allowEmpty: boolean | undefined, { pruned, done }: Emptiness): void {
  if (allowEmpty) return;
  const why = pruned > 0 ? `the bodies of all ${pruned} events that match were pruned` : 'no event matches';
  throw new KitError('REPLAY_FAILED', `${why}: nothing is ${done} (--allow-empty makes that a success)`);
}
