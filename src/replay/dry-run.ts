import type { EventFilter, EventStore, StoredEvent } from '../store/event-store.ts';
import type { Listener } from './replay-listener.ts';
import { LeftOut, pagesOf, type RecordedEvent, type Source } from './sources.ts';

/** How many of the first events a preview holds. */
const SHOWN = 5;

/** Counts what a replay to the handlers would do, changes nothing, and returns the first few of the events. */
export async function previewReset(store: Pick<EventStore, 'searchOldest'>, filter: EventFilter) {
  const found = { replayable: 0, underWay: 0, pruned: 0 };
  const first: StoredEvent[] = [];
  for await (const page of pagesOf(store, filter)) {
    for (const event of page) {
      const standing = standingOf(event);
      found[standing]++;
      if (standing === 'replayable' && first.length < SHOWN) first.push(event);
    }
  }
  return { ...found, first };
}

/** What a replay to the handlers makes of an event. */
export function standingOf({
  status,
  nextAttemptAt,
  body,
}: StoredEvent): 'replayable' | 'underWay' | 'pruned' {
  const isUnderWay = status === 'running' || (status === 'pending' && nextAttemptAt === undefined);
  if (isUnderWay) return 'underWay';
  return body === undefined ? 'pruned' : 'replayable';
}

/** Whether a replay to the handlers resets an event. */
export function isReplayable(event: StoredEvent): boolean {
  return standingOf(event) === 'replayable';
}

/** Counts what a replay over HTTP would send, names the first broken lines, and returns the first few of the events. */
export async function previewSending(source: Source, listener: Listener) {
  const leftOut = new LeftOut((text) => listener.say(text));
  const first: RecordedEvent[] = [];
  let sendable = 0;
  for await (const event of source.read(leftOut)) {
    sendable++;
    if (first.length < SHOWN) first.push(event);
  }
  const { pruned, broken } = leftOut;
  return { sendable, pruned, broken, first };
}
