import { type MonotonicClock, pauseUntilAborted } from '../base/clock.ts';
import { seededRandom } from '../base/seeded-random.ts';
import type { LeftOut, RecordedEvent, Source } from './sources.ts';

/** How a replay changes what it sends. */
export interface Reshaping {
  /** keeps the recorded gaps, so many times faster; Infinity: as fast as possible */
  readonly speed?: number | undefined;
  readonly shuffle?: boolean | undefined;
  /** sends an event twice with this probability */
  readonly duplicate?: number | undefined;
  /** the same seed gives the same order and the same duplicates */
  readonly seed?: number | undefined;
  /** moves event times, so that receivers take the events as new */
  readonly asNew?: boolean | undefined;
}

interface Reading {
  readonly leftOut?: LeftOut;
  readonly clock: MonotonicClock;
  readonly signal: AbortSignal;
}

type Events = AsyncIterable<RecordedEvent>;

/** Reads a source as a replay sends it. */
export async function* reshaped(
  source: Source,
  { speed = Infinity, shuffle = false, duplicate = 0, seed = 0, asNew = false }: Reshaping,
  { leftOut, clock, signal }: Reading,
): AsyncGenerator<RecordedEvent> {
  const random = seededRandom(seed);
  // The newest event may be anywhere: all are read once to find it, so that none is moved into the future.
  const newest = asNew ? await newestOf(source.read(), signal) : 0;
  const began = clock.now();
  let events: Events = source.read(leftOut);
  // Whole seconds, as the provider writes them: the newest comes into the current second, and every gap stays.
  if (asNew) events = moved(events, Math.floor((began - newest) / 1000) * 1000);
  if (duplicate > 0) events = duplicated(events, duplicate, random);
  if (shuffle) events = shuffled(events, random);
  yield* speed === Infinity ? events : paced(events, speed, { clock, signal });
  // Another replay moves events to a later second: in the same one they would be those of this one, which the receiver has seen.
  const left = began + 1000 - clock.now();
  if (asNew && left > 0) await pauseUntilAborted(clock, left, signal);
}

async function newestOf(events: Events, signal: AbortSignal): Promise<number> {
  let newest = 0;
  for await (const { eventTime } of events) {
    if (signal.aborted) break;
    newest = Math.max(newest, eventTime);
  }
  return newest;
}

async function* moved(events: Events, byMs: number): Events {
  for await (const event of events) {
    if (event.eventTime === 0) {
      yield event; // nothing to move
      continue;
    }
    // As the provider writes it, `2024-08-27T00:20:57+00:00`; with a fraction only if the time has one.
    const event_time = new Date(event.eventTime + byMs).toISOString().replace(/(\.000)?Z$/, '+00:00');
    yield { ...event, body: JSON.stringify({ ...JSON.parse(event.body), event_time }) };
  }
}

async function* duplicated(events: Events, probability: number, random: () => number): Events {
  for await (const event of events) {
    yield event;
    if (random() < probability) yield event;
  }
}

/** In random order, at the times of the recorded order. Holds all events in memory. */
async function* shuffled(events: Events, random: () => number): Events {
  const all = await Array.fromAsync(events);
  const slots = all.map(({ receivedAt }) => receivedAt);
  for (const [place, receivedAt] of slots.entries()) {
    const drawn = place + Math.floor(random() * (all.length - place));
    const event = all[drawn] as RecordedEvent;
    all[drawn] = all[place] as RecordedEvent;
    yield { ...event, receivedAt, share: (place + 1) / all.length };
  }
}

/** Yields each event when its time has come: the recorded gaps, divided by the speed. */
async function* paced(events: Events, speed: number, { clock, signal }: Reading): Events {
  const began = clock.monotonic();
  let first: number | undefined;
  for await (const event of events) {
    first ??= event.receivedAt;
    const ahead = began + (event.receivedAt - first) / speed - clock.monotonic();
    if (ahead > 0) await pauseUntilAborted(clock, ahead, signal);
    yield event;
  }
}
