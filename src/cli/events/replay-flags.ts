import { KitError } from '../../base/errors.ts';
import type { Expectation } from '../../replay/replay-to-handlers.ts';
import type { Reshaping } from '../../replay/reshape.ts';
import type { FilterFlags } from '../options.ts';

/** The options of a replay. */
export interface ReplayFlags extends FilterFlags, Reshaping, Expectation {
  readonly all?: true;
  readonly dryRun?: true;
  readonly report?: string;
  readonly json?: true;
  readonly allowEmpty?: true;
  readonly timeout?: number;
  readonly resetSteps?: true;
  readonly run?: true;
  readonly to?: URL;
  readonly from?: string;
  readonly secretFile?: string;
  readonly concurrency?: number;
}

/** @throws KitError REPLAY_FAILED, as there is nothing to replay, unless that is allowed */
export function refuseEmpty({ allowEmpty }: ReplayFlags, pruned: number): void {
  if (allowEmpty) return;
  const why = pruned > 0 ? `the bodies of all ${pruned} events that match were pruned` : 'no event matches';
  throw new KitError('REPLAY_FAILED', `${why}: nothing is replayed (--allow-empty makes that a success)`);
}
