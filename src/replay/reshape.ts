import type { MonotonicClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { pauseUntilAborted } from '../base/pause.ts';
import { seededRandom } from '../base/seeded-random.ts';
import type { RecordedEvent, Source, Unreplayable } from './recorded-event.ts';

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

/** The options of a reshaping. */
export const RESHAPING = [
  'speed',
  'shuffle',
  'duplicate',
  'seed',
  'asNew',
] as const satisfies readonly (keyof Reshaping)[];

interface Reading {
  readonly unreplayable: Unreplayable;
  readonly clock: MonotonicClock;
  readonly signal: AbortSignal;
}

/** Reads a source as a replay sends it. */
export async function reshaped(
  source: Source,
  { speed = Infinity, shuffle = false, duplicate = 0, seed = 0, asNew = false }: Reshaping,
  { unreplayable, clock, signal }: Reading,
): Promise<AsyncIterable<RecordedEvent>> {
  const random = seededRandom(seed);
  // The newest event may be anywhere: all are read once to find it, so that none is moved into the future.
  const times = asNew ? await timesOf(source.read(), signal) : undefined;
  let events = source.read(unreplayable);
  if (times) {
    const move = { newest: times.newest, now: clock.now() };
    if (times.oldest + shiftOf(move) < EARLIEST) throw tooFarApart(times);
    // The next replay moves events to a later second: in the same one they would be those of this one, which the receiver has seen.
    const nextSecond = times.newest + shiftOf(move) + 1000;
    events = notBefore(nextSecond, movedToNow(events, move), { clock, signal });
  }
  if (duplicate > 0) events = duplicated(events, duplicate, random);
  if (shuffle) events = shuffled(events, random);
  if (speed === Infinity) return events;
  return paced(events, {
    speed,
    now: () => clock.monotonic(),
    wait: (ms) => pauseUntilAborted(clock, ms, signal),
  });
}

/** The oldest and the newest event time of all, milliseconds since the epoch. */
export interface Times {
  readonly oldest: number;
  readonly newest: number;
}

/**
 * The oldest and the newest event time of all; undefined if no event has one.
 * @param signal ends the search
 */
export async function timesOf(
  events: AsyncIterable<RecordedEvent>,
  signal: AbortSignal,
): Promise<Times | undefined> {
  let times: Times | undefined;
  for await (const { eventTime } of events) {
    if (signal.aborted) break;
    if (eventTime === 0) continue;
    const { oldest, newest } = times ?? { oldest: eventTime, newest: eventTime };
    times = { oldest: Math.min(oldest, eventTime), newest: Math.max(newest, eventTime) };
  }
  return times;
}

/** An event time is a date that ISO 8601 writes with four digits. */
const EARLIEST = Date.UTC(-1, 12);

function tooFarApart({ oldest, newest }: Times): KitError {
  const day = (time: number) => new Date(time).toISOString().slice(0, 10);
  return new KitError(
    'INPUT_INVALID',
    `the events are from ${day(oldest)} to ${day(newest)}, and --as-new would move the oldest to before the year 0: leave out the newest, such as with --until`,
  );
}

/** How far event times are moved. */
export interface Move {
  /** the newest event time of all, milliseconds since the epoch */
  readonly newest: number;
  /** milliseconds since the epoch */
  readonly now: number;
}

/**
 * Moves all event times by the same whole seconds, the newest into the current second: every gap stays, and no event is in
 * the future. A receiver that has seen the notifications takes them as new.
 */
export async function* movedToNow(
  events: AsyncIterable<RecordedEvent>,
  { newest, now }: Move,
): AsyncGenerator<RecordedEvent> {
  const shift = shiftOf({ newest, now });
  for await (const event of events) {
    if (event.eventTime === 0) {
      yield event; // nothing to move
      continue;
    }
    const event_time = timestamp(event.eventTime + shift);
    yield { ...event, body: JSON.stringify({ ...JSON.parse(event.body), event_time }) };
  }
}

/** Ends no sooner than a given time. */
async function* notBefore(
  end: number,
  events: AsyncIterable<RecordedEvent>,
  { clock, signal }: Pick<Reading, 'clock' | 'signal'>,
): AsyncGenerator<RecordedEvent> {
  yield* events;
  const left = end - clock.now();
  if (left > 0) await pauseUntilAborted(clock, left, signal);
}

function shiftOf({ newest, now }: Move): number {
  return Math.floor((now - newest) / 1000) * 1000;
}

/** As the provider writes it, `2024-08-27T00:20:57+00:00`; with a fraction only if the time has one. */
function timestamp(time: number): string {
  return new Date(time).toISOString().replace(/(\.000)?Z$/, '+00:00');
}

/** In random order, at the times of the recorded order. Holds all events in memory. */
export async function* shuffled(
  events: AsyncIterable<RecordedEvent>,
  random: () => number,
): AsyncGenerator<RecordedEvent> {
  const all: RecordedEvent[] = [];
  for await (const event of events) all.push(event);
  const slots = all.map(({ receivedAt }) => receivedAt);
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [all[last], all[other]] = [all[other] as RecordedEvent, all[last] as RecordedEvent];
  }
  for (const [place, event] of all.entries()) {
    yield { ...event, receivedAt: slots[place] ?? event.receivedAt, share: (place + 1) / all.length };
  }
}

/** Gives each event twice with this probability. */
export async function* duplicated(
  events: AsyncIterable<RecordedEvent>,
  probability: number,
  random: () => number,
): AsyncGenerator<RecordedEvent> {
  for await (const event of events) {
    yield event;
    if (random() < probability) yield event;
  }
}

/** Time in milliseconds from any moment, and how to wait. */
export interface Pacing {
  readonly speed: number;
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

/** Gives each event when its time has come: the recorded gaps, divided by the speed. */
export async function* paced(
  events: AsyncIterable<RecordedEvent>,
  { speed, now, wait }: Pacing,
): AsyncGenerator<RecordedEvent> {
  let first: number | undefined;
  const began = now();
  for await (const event of events) {
    first ??= event.receivedAt;
    const ahead = began + (event.receivedAt - first) / speed - now();
    if (ahead > 0) await wait(ahead);
    yield event;
  }
}
