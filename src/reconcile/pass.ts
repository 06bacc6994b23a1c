import { isDate } from 'node:util/types';
import { wholeSeconds } from '../base/duration.ts';
import { shown } from '../base/thrown.ts';
import type { ExpectedNotification } from '../dispatch/handler.ts';
import type { JsonObject } from '../notification/json.ts';
import { isKind, KINDS } from '../notification/kinds.ts';
import { eventTimeOf, problemIn, resourceOf } from '../notification/payload.ts';
import type { EventStore, Expected, Pass, VerifiedNotification } from '../store/event-store.ts';
import { toVerified } from '../store/stored.ts';

/** How far the times of an expected notification and of what came may differ. */
const SAME_MS = 60_000;
/** How many are looked up, or recorded, in one step: acks wait for no more than that. */
const STEP = 100;
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
 * Looks for notifications that should have come, and records the missing ones. Memory grows with `most` alone.
 * @throws TypeError if something expected is no notification; the reason of `signal`; what `expected` throws
 */
export async function passOf({
  store,
  expected,
  beganAt,
  since,
  afterMs,
  most,
  isTrial,
  signal,
}: PassOptions): Promise<Pass> {
  const missing: Record<string, number> = {};
  /** by id: a list that changes while it is read may have some of them twice */
  const kept = new Map<string, VerifiedNotification>();
  let [count, absent] = [0, 0];
  for await (const step of stepsOf(expected)) {
    signal.throwIfAborted();
    count += step.length;
    const old = step.filter(({ eventTime }) => eventTime <= beganAt - afterMs);
    for (const { body } of await missingOf(store, old)) {
      const one = toVerified(body, JSON.stringify(body));
      if (kept.has(one.id)) continue;
      absent++;
      missing[one.kind] = (missing[one.kind] ?? 0) + 1;
      if (kept.size < most) kept.set(one.id, one);
    }
  }
  const list = [...kept.values()];
  const quarantined = absent > 0 ? await store.quarantine.waitingOf({ list: list.map(looked) }) : 0;
  const isRecorded = !isTrial && absent <= most;
  for (let at = 0; isRecorded && at < list.length; at += STEP) {
    // Some may have come while the pass went on.
    const still = await missingOf(store, list.slice(at, at + STEP));
    await Promise.all(still.map((one) => store.queue.record({ ...one, origin: 'reconciled' })));
  }
  return { beganAt, since, expected: count, missing, quarantined, isRecorded };
}

/** An expected notification as it would have come. It has no digest yet, as most have come. */
interface Wanted extends Expected {
  readonly body: JsonObject;
}

/** What is looked for in the place of one: a notification of its kind that is newer tells as much. */
const looked = ({ kind, resource, eventTime }: Expected): Expected => ({
  kind,
  resource,
  eventTime: eventTime - SAME_MS,
});

async function missingOf<T extends Expected>({ queue }: EventStore, list: readonly T[]): Promise<T[]> {
  const found = await queue.missing({ list: list.map(looked) });
  return found.flatMap(({ at }) => list[at] ?? []);
}

async function* stepsOf(expected: AsyncIterable<ExpectedNotification>) {
  let step: Wanted[] = [];
  for await (const one of expected) {
    step.push(wantedOf(one));
    if (step.length < STEP) continue;
    yield step;
    step = [];
  }
  yield step;
}

/** Checks one, and gives it the members of its kind alone, in the provider's order. */
function wantedOf(one: ExpectedNotification): Wanted {
  const given: Readonly<Record<string, unknown>> = Object(one);
  const { event: kind, site_id, event_time: time } = given;
  const refuse = (problem: string) =>
    new TypeError(`reconcile: \`expected\` yielded no notification: ${problem}: ${shown(one)}`);
  if (!isKind(kind)) throw refuse('event: must be one of the kinds');
  const ids = Object.fromEntries(KINDS[kind].ids.map((name) => [name, given[name]]));
  const ms = isDate(time) ? time.getTime() : (eventTimeOf(given) ?? Number.NaN);
  const event_time = Number.isNaN(ms) ? time : wholeSeconds(ms);
  const body = { event: kind, ...ids, webhook_id: WEBHOOK_ID, site_id, event_time };
  const problem = problemIn(body);
  if (problem !== undefined) throw refuse(problem);
  return { kind, resource: resourceOf(body) ?? '', eventTime: eventTimeOf(body) ?? 0, body };
}
