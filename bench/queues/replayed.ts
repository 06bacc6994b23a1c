import { usageOf } from '../targets/usage.ts';
import { dispatchAll } from './dispatch-all.ts';
import { openOurs } from './our-store.ts';

export interface ReplayedOptions {
  readonly database: string;
}

export interface ReplayedFigures {
  /** events a second, from the call of the replay until all are handled */
  readonly perSecond: number;
  /** of which: put back to pending and made ready */
  readonly putBackPerSecond: number;
  /** of which: handled, once all are ready */
  readonly handledPerSecond: number;
  readonly peakMb: number;
}

// Replays everything that is finished in a database to handlers that do nothing.
const { database }: ReplayedOptions = JSON.parse(process.argv[2] ?? '{}');
const store = await openOurs(`sqlite:${database}`);
const waiting = await store.count({ status: 'pending' });
const began = performance.now();
const replayed = await store.replay({});
const putBack = performance.now();
await dispatchAll(store, replayed + waiting);
const handled = performance.now();
process.send?.({
  perSecond: ((replayed + waiting) * 1000) / (handled - began),
  putBackPerSecond: (replayed * 1000) / (putBack - began),
  handledPerSecond: ((replayed + waiting) * 1000) / (handled - putBack),
  peakMb: usageOf().peakMb,
} satisfies ReplayedFigures);
