import { wholeSeconds } from '../base/duration.ts';
import { shown } from '../base/thrown.ts';
import type { ExpectedNotification } from '../dispatch/handler.ts';
import { isKind } from '../notification/kinds.ts';
import { eventTimeOf, problemIn } from '../notification/payload.ts';
import type { EventStore, Pass, VerifiedNotification } from '../store/event-store.ts';
import { toVerified } from '../store/verified.ts';

/** How far the times of an expected notification and of what came may differ. */
const SAME_MS = 60_000;
/** How many are looked up in one step. */
const STEP = 500;
/** The `webhook_id` of what no webhook has sent. */
const WEBHOOK_ID = 'hookkit';

interface PassOptions {
  readonly store: EventStore;
  readonly expected: AsyncIterable<ExpectedNotification>;
  /** when the pass began, and since when its notifications happened, milliseconds since the epoch */
  readonly beganAt: number;
  readonly since: number;
  /** what is younger may be on its way still, milliseconds */
  readonly afterMs: number;
  /** of more that are missing, none is recorded */
  readonly most: number;
  /** ends it before anything is recorded */
  readonly signal: AbortSignal;
  /** only counts */
  readonly isTrial?: boolean | undefined;
}

/**
 * Looks for what should have come, and records what has not. Memory grows with `most` alone.
 * @throws TypeError if something expected is no notification
 */
export async function passOf({
  store,
  expected,
  beganAt,
  since,
  afterMs,
  most,
  signal,
  isTrial,
}: PassOptions): Promise<Pass> {
  const { queue } = store;
  const missing: Record<string, number> = {};
  const kept: VerifiedNotification[] = [];
  let [count, absent] = [0, 0];
  for await (const step of stepsOf(expected)) {
    signal.throwIfAborted();
    count += step.length;
    const old = step.filter(({ eventTime }) => eventTime <= beganAt - afterMs);
    for (const one of await missingOf(store, old)) {
      absent++;
      missing[one.kind] = (missing[one.kind] ?? 0) + 1;
      if (kept.length < most) kept.push(one);
    }
  }
  const quarantined = await store.quarantine.waitingOf({ list: kept });
  const isRecorded = !isTrial && absent <= most;
  for (let at = 0; isRecorded && at < kept.length; at += STEP) {
    // Some may have come while the pass went on.
    const still = await missingOf(store, kept.slice(at, at + STEP));
    await Promise.all(still.map((one) => queue.record({ ...one, origin: 'reconciled' })));
  }
  return { beganAt, since, expected: count, missing, quarantined, isRecorded };
}

/** Those of which no event has come: a newer one of its kind tells as much. */
async function missingOf({ queue }: EventStore, list: readonly VerifiedNotification[]) {
  const earlier = list.map(({ kind, resource, eventTime }) => ({
    kind,
    resource,
    eventTime: eventTime - SAME_MS,
  }));
  const found = await queue.missing({ list: earlier });
  return found.flatMap(({ at }) => list[at] ?? []);
}

async function* stepsOf(expected: AsyncIterable<ExpectedNotification>) {
  let step: VerifiedNotification[] = [];
  for await (const one of expected) {
    step.push(notificationOf(one));
    if (step.length < STEP) continue;
    yield step;
    step = [];
  }
  yield step;
}

/** An expected notification as it would be recorded, had it come. */
function notificationOf(one: ExpectedNotification): VerifiedNotification {
  const { event, event_time: time } = Object(one);
  const ms = time instanceof Date ? time.getTime() : eventTimeOf({ event_time: time });
  const isTime = ms !== undefined && !Number.isNaN(ms);
  const body = { ...one, webhook_id: WEBHOOK_ID, event_time: isTime ? wholeSeconds(ms) : time };
  const problem = isKind(event) ? problemIn(body) : `event: ${shown(event)} is not one of the kinds`;
  if (problem === undefined) return toVerified(body, JSON.stringify(body));
  throw new TypeError(`reconcile: \`expected\` yielded no notification: ${problem}`);
}
