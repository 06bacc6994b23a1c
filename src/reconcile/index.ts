import { durationOf } from '../base/duration.ts';
import type { Handler, Reconcile, Reminder } from '../dispatch/handler.ts';
import type { RunningApp } from '../dispatch/run-handler.ts';
import type { Parts } from '../observer.ts';
import type { Pass } from '../store/event-store.ts';
import { PASS, RECONCILE } from '../store/reports/report.ts';
import { passOf } from './pass.ts';

type Needs = Pick<Parts, 'store' | 'log' | 'clock'>;
type Reconciling = Needs & { readonly signal: AbortSignal };

interface PassFlags {
  /** instead of the time that the last whole pass gives, milliseconds since the epoch */
  readonly since?: number | undefined;
  /** instead of that of the app */
  readonly most?: number | undefined;
  /** only counts */
  readonly isTrial?: boolean | undefined;
}

/**
 * Does one pass.
 * @param app what the `start` of the app opened
 * @throws TypeError if something that is expected is no notification; what `expected` throws
 */
export async function reconcileOnce(
  reconcile: Reconcile,
  app: unknown,
  { store, log, clock, signal }: Reconciling,
  flags: PassFlags = {},
): Promise<Pass> {
  const { after = '15m', lookback = '2d', most = 1000 } = reconcile;
  const beganAt = clock.now();
  const last = await store.reports.lastPass();
  const afterMs = lengthOf(after);
  const backMs = Math.max(lengthOf(lookback), afterMs); // what was too young for one pass is seen by the next
  // Until one is whole, each goes back as far as the first: what that has not recorded stays in sight.
  const earlier = last?.wholeAt === undefined ? last?.since : last.wholeAt - backMs;
  const since = flags.since ?? earlier ?? beganAt - backMs;
  const expected = reconcile.expected(new Date(since), { app, log, signal });
  const limits = { afterMs, most: flags.most ?? most, isTrial: flags.isTrial };
  const pass = await passOf({ store, expected, beganAt, since, ...limits, signal });
  return { ...pass, wholeAt: pass.isRecorded ? beganAt : last?.wholeAt };
}

/** The schedules of an app, with the one by which it reconciles, if it does. A pass that breaks off begins again, as ticks that fail do. */
export function withReconcile({ reconcile, schedule, value }: RunningApp, needs: Needs) {
  if (!reconcile) return { schedule };
  const { every = '1h' } = reconcile;
  const run: Handler<Reminder> = async (_tick, { log, signal, state }) => {
    const pass = await reconcileOnce(reconcile, value, { ...needs, log, signal });
    state.set(PASS, pass);
    if (pass.isRecorded) log.info(pass, 'reconciled');
    else log.error(pass, 'reconciled nothing: more notifications are missing than one pass may record');
  };
  return { schedule: { ...schedule, [RECONCILE]: { every, run, timeoutMs: lengthOf(every) } } };
}

const lengthOf = (text: string) => durationOf(text) ?? 0;
