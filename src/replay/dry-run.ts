import type { EventFilter, EventStore, StoredEvent } from '../store/event-store.ts';
import { pagesOf } from './event-pages.ts';
import { firstLines } from './first-lines.ts';
import type { RecordedEvent, Source } from './recorded-event.ts';
import type { Listener } from './replay-listener.ts';

/** How many of the first events a preview holds. */
const SHOWN = 5;

/** The result of a dry run of a replay to the handlers. */
export interface ResetPreview {
  readonly replayable: number;
  /** pending or running already */
  readonly underWay: number;
  /** without a body any more */
  readonly pruned: number;
  readonly first: readonly StoredEvent[];
}

/** Counts what a replay to the handlers would do, and changes nothing. */
export async function previewReset(
  store: Pick<EventStore, 'searchOldest'>,
  filter: EventFilter,
): Promise<ResetPreview> {
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

/** The result of a dry run of a replay over HTTP. */
export interface SendingPreview {
  readonly sendable: number;
  /** without a body any more */
  readonly pruned: number;
  /** lines that are no recorded notifications */
  readonly broken: number;
  readonly first: readonly RecordedEvent[];
}

/** Counts what a replay over HTTP would send, and names the first broken lines. */
export async function previewSending(source: Source, listener: Listener): Promise<SendingPreview> {
  const found = { sendable: 0, pruned: 0, broken: 0 };
  const first: RecordedEvent[] = [];
  const sayBroken = firstLines((text) => listener.say(text));
  const unreplayable = {
    pruned() {
      found.pruned++;
    },
    broken(line: number, problem: string) {
      found.broken++;
      sayBroken(`line ${line}: ${problem}`);
    },
  };
  for await (const event of source.read(unreplayable)) {
    found.sendable++;
    if (first.length < SHOWN) first.push(event);
  }
  return { ...found, first };
}
