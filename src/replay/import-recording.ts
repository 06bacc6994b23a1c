import { pauseUntilAborted, systemClock } from '../base/clock.ts';
import { problemIn } from '../notification/payload.ts';
import type { EventStore, VerifiedNotification } from '../store/event-store.ts';
import { refusalOf } from './compose.ts';
import type { ReplayListener } from './replay-listener.ts';
import { LeftOut, type Source } from './sources.ts';

/** How many are in memory at once: as many as share a commit. */
const BATCH = 128;
/** Between two batches other processes get to write. */
const PAUSE_MS = 20;

interface Import {
  /** of the receiver, in bytes */
  readonly bodyLimit: number;
  readonly listener: ReplayListener;
  /** ends it after the batch under way */
  readonly signal: AbortSignal;
}

/**
 * Records payloads that nobody has signed, by the authority of whoever asks for it, in constant memory.
 * @returns how many became events, how many were already recorded, and how many a receiver would refuse or a handler never get
 */
export async function importRecording({ queue }: EventStore, source: Source, importing: Import) {
  const { bodyLimit, listener, signal } = importing;
  const leftOut = new LeftOut((text) => listener.say(text));
  using stage = listener.begin('imported');
  const counts = { accepted: 0, duplicate: 0 };
  let batch: VerifiedNotification[] = [];
  const record = async (share?: number) => {
    const recorded = batch.map((one) => queue.record({ ...one, origin: 'import' }));
    batch = [];
    for (const { status } of await Promise.all(recorded)) counts[status]++;
    stage.show(counts.accepted + counts.duplicate, share);
  };
  for await (const { place = '', share, ...event } of source.read(leftOut)) {
    const refusal = refusalOf(Buffer.from(event.body), bodyLimit);
    const problem =
      refusal === undefined ? problemIn(JSON.parse(event.body)) : `a receiver refuses this with ${refusal}`;
    if (problem === undefined) batch.push(event);
    else leftOut.addBroken(place, problem);
    if (signal.aborted) break;
    if (batch.length < BATCH) continue;
    await record(share);
    await pauseUntilAborted(systemClock, PAUSE_MS, signal);
  }
  await record();
  return { events: counts.accepted, duplicates: counts.duplicate, leftOut: leftOut.broken };
}
