import { parseJsonText } from '../notification/json.ts';
import type { Outgoing } from './recorded-event.ts';

/**
 * The newest event time of all; undefined where none has one.
 * @param signal ends the search
 */
export async function newestTime(
  items: AsyncIterable<Outgoing>,
  signal: AbortSignal,
): Promise<number | undefined> {
  let newest: number | undefined;
  for await (const { eventTime } of items) {
    if (signal.aborted) break;
    if (eventTime !== 0) newest = Math.max(newest ?? eventTime, eventTime);
  }
  return newest;
}

/** Where event times are moved to. */
export interface Move {
  /** the newest event time of all that are moved, milliseconds since the epoch */
  readonly newest: number;
  /** milliseconds since the epoch */
  readonly now: number;
}

/**
 * Moves event times by as many whole seconds as bring the newest to the second that is now: every gap stays, and none is
 * in the future. Whoever has seen the notifications before takes them as new.
 */
export async function* asNew(
  items: AsyncIterable<Outgoing>,
  { newest, now }: Move,
): AsyncGenerator<Outgoing> {
  const shift = Math.floor((now - newest) / 1000) * 1000;
  for await (const item of items) {
    if (item.eventTime === 0) {
      yield item; // nothing to move
      continue;
    }
    const event_time = timestamp(item.eventTime + shift);
    yield { ...item, body: JSON.stringify({ ...parseJsonText(item.body), event_time }) };
  }
}

/** As the provider writes it, `2024-08-27T00:20:57+00:00`; with a fraction only where there is one. */
function timestamp(time: number): string {
  return new Date(time).toISOString().replace(/(\.000)?Z$/, '+00:00');
}

/** In random order, but at the times of the recorded one. Holds all of them in memory. */
export async function* shuffled(
  items: AsyncIterable<Outgoing>,
  random: () => number,
): AsyncGenerator<Outgoing> {
  const all: Outgoing[] = [];
  for await (const item of items) all.push(item);
  const slots = all.map(({ receivedAt }) => receivedAt);
  for (let last = all.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [all[last], all[other]] = [all[other] as Outgoing, all[last] as Outgoing];
  }
  for (const [place, item] of all.entries()) {
    yield { ...item, receivedAt: slots[place] ?? item.receivedAt, share: (place + 1) / all.length };
  }
}

/** Some of them twice, each with this probability. */
export async function* duplicated(
  items: AsyncIterable<Outgoing>,
  probability: number,
  random: () => number,
): AsyncGenerator<Outgoing> {
  for await (const item of items) {
    yield item;
    if (random() < probability) yield item;
  }
}

/** What time it is, in milliseconds from anywhere, and how to let it pass. */
export interface Pacing {
  readonly speed: number;
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

/** Holds each back until its time has come: the recorded gaps, divided by the speed. */
export async function* paced(
  items: AsyncIterable<Outgoing>,
  { speed, now, wait }: Pacing,
): AsyncGenerator<Outgoing> {
  let first: number | undefined;
  const began = now();
  for await (const item of items) {
    first ??= item.receivedAt;
    const ahead = began + (item.receivedAt - first) / speed - now();
    if (ahead > 0) await wait(ahead);
    yield item;
  }
}
