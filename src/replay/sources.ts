import { createReadStream, ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { KitError, messageOf } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import { type JsonObject, parseBody } from '../notification/json.ts';
import type { EventFilter, StoredEvent, StoreReader, VerifiedNotification } from '../store/event-store.ts';
import { toVerified } from '../store/stored.ts';
import { type RecordedNotification, readRecording } from './recording-lines.ts';
import { UNINTERRUPTED } from './replay-listener.ts';

/** A recorded event for a replay. Its id stays that of the recorded event, even if its body is changed for the replay. */
export interface RecordedEvent extends VerifiedNotification, RecordedNotification {
  /** where its recording has it, such as `line 3` */
  readonly place?: string | undefined;
  /** how much of the source was read up to this event, in [0, 1]; undefined if unknown */
  readonly share?: number | undefined;
}

export function recordedEvent(
  { body, ...recorded }: RecordedNotification,
  value: JsonObject,
  reading?: Pick<RecordedEvent, 'place' | 'share'>,
): RecordedEvent {
  return { ...toVerified(value, body), ...recorded, ...reading };
}

/** Recorded events, which can be read from the first one as often as needed. */
export interface Source {
  /** @param leftOut told of what cannot be replayed */
  read(leftOut?: LeftOut): AsyncIterable<RecordedEvent>;
}

/** How many broken lines are shown: a file that is no recording at all has hundreds of thousands. */
const MOST_TOLD = 20;

/** Counts what a source has and nobody can replay, and names the first broken lines. */
export class LeftOut {
  /** events without a body */
  pruned = 0;
  /** lines that are no recorded notifications */
  broken = 0;
  readonly #say: (text: string) => void;

  constructor(say = (_text: string) => {}) {
    this.#say = say;
  }

  addBroken(place: string, problem: string): void {
    this.broken++;
    if (this.broken <= MOST_TOLD) this.#say(`${place}: ${problem}`);
    if (this.broken === MOST_TOLD + 1) this.#say('more lines like these are counted, but not shown');
  }
}

/** The events of a database that a filter takes, in the order in which they were received. The store belongs to the caller. */
export function databaseSource(store: StoreReader, filter: EventFilter): Source {
  let upTo: number | undefined;
  return {
    async *read(leftOut = new LeftOut()) {
      upTo ??= await store.queue.lastSeq(); // the same each time: what is received later may be what this replay sent
      for await (const page of store.queue.received(filter, upTo)) {
        for (const { body, receivedAt, webhookId, seq } of page) {
          if (body === undefined) {
            leftOut.pruned++;
            continue;
          }
          const { value } = parseBody(Buffer.from(body));
          yield recordedEvent({ body, receivedAt, webhookId }, value, { share: seq / upTo });
        }
      }
    },
  };
}

export interface RecordingOptions {
  readonly filter?: EventFilter;
  /** what can be read only once, such as a pipe, is held in memory then */
  readonly isReadTwice?: boolean | undefined;
  /** ends the reading, even if a pipe keeps it waiting */
  readonly signal?: AbortSignal;
}

/**
 * The events of a recording that a filter takes, read a line at a time.
 * @param from a file, or a stream such as stdin
 * @throws KitError INPUT_INVALID if the recording cannot be read
 */
export async function recordingSource(
  from: string | Readable,
  { filter = {}, isReadTwice = false, signal = UNINTERRUPTED }: RecordingOptions = {},
): Promise<Source> {
  const name = typeof from === 'string' ? from : '-';
  const cannotRead = (cause: unknown): never => {
    throw new KitError('INPUT_INVALID', `cannot read the recording ${name}: ${messageOf(cause)}`, { cause });
  };
  const found = typeof from === 'string' ? await stat(from).catch(cannotRead) : undefined;
  const open = () => addAbortSignal(signal, typeof from === 'string' ? createReadStream(from) : from);
  const holding = isReadTwice && !found?.isFile() ? Array.fromAsync(readRecording(open())) : undefined;
  const held = await holding?.catch((cause) => {
    signal.throwIfAborted();
    return cannotRead(cause);
  });
  const { size = 0 } = found ?? {};
  return {
    async *read(leftOut = new LeftOut()) {
      const stream = held ? undefined : open();
      try {
        for await (const { place, ...line } of stream ? readRecording(stream) : (held ?? [])) {
          if (line.problem !== undefined) {
            leftOut.addBroken(place, line.problem);
            continue;
          }
          const share = size > 0 && stream instanceof ReadStream ? stream.bytesRead / size : undefined;
          const event = recordedEvent(line.recorded, line.value, { place, share });
          if (matches(event, filter)) yield event;
        }
      } catch (cause) {
        if (!signal.aborted) cannotRead(cause);
      }
    },
  };
}

/**
 * All events of a recording.
 * @param say told of what is left out of a file of another tool
 * @throws KitError INPUT_INVALID if it cannot be read, or has a broken line
 */
export async function wholeRecording(file: string, say = (_text: string) => {}): Promise<RecordedEvent[]> {
  const leftOut = new LeftOut((problem) => {
    if (problem.startsWith('line')) throw new Error(problem);
    say(problem);
  });
  const events = await Array.fromAsync((await recordingSource(file)).read(leftOut));
  if (leftOut.broken > 0) say(`left out: ${plural(leftOut.broken, 'entry', 'entries')} of ${file}`);
  return events;
}

/** Whether a filter takes an event that is not in a store; the store's filters decide in the same way. */
function matches(event: RecordedEvent, filter: EventFilter): boolean {
  const { ids, kind, site, resource, webhook, q, since = -Infinity, until = Infinity } = filter;
  const isTimed = event.eventTime !== 0; // without a time, stored as 0, it did not happen at any
  const isWithin = isTimed && event.eventTime >= since && event.eventTime < until;
  return (
    (ids === undefined || ids.includes(event.id)) &&
    (kind === undefined || [kind].flat().includes(event.kind)) &&
    (site === undefined || site === event.siteId) &&
    (resource === undefined || resource === event.resource) &&
    (webhook === undefined || webhook === event.webhookId) &&
    (isWithin || (filter.since === undefined && filter.until === undefined)) &&
    (q === undefined || event.body.includes(q))
  );
}

/** How many events are in memory at once. */
const PAGE = 200;

/** All events that a filter takes, the oldest first, a page at a time. Memory does not grow with their number. */
export async function* pagesOf(
  { queue }: Pick<StoreReader, 'queue'>,
  filter: EventFilter,
): AsyncGenerator<readonly StoredEvent[]> {
  let after: string | undefined;
  do {
    const { events, next } = await queue.search({ filter, after, limit: PAGE, order: 'oldest' });
    if (events.length > 0) yield events;
    after = next;
  } while (after !== undefined);
}

/** Whether handlers take an event up without a replay. */
export function isUnderWay({ status, nextAttemptAt }: StoredEvent): boolean {
  return status === 'running' || (status === 'pending' && nextAttemptAt === undefined);
}
