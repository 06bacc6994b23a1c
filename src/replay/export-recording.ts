import type { EventFilter, EventStore } from '../store/event-store.ts';
import { type Recorded, toLine } from './recording-lines.ts';
import { redactor } from './redact.ts';
import { type Listener, UNINTERRUPTED, UNWATCHED } from './replay-listener.ts';

export interface Export {
  readonly filter: EventFilter;
  /** takes some lines; the next ones follow once it resolves */
  readonly write: (lines: string) => Promise<void>;
  /** redacts the recording with this key */
  readonly redactKey?: Uint8Array | undefined;
  readonly listener?: Listener;
  /** ends the export after the lines that are being written */
  readonly signal?: AbortSignal;
}

/** How many events an export wrote, and left out because their bodies were pruned. */
export interface Exported {
  readonly exported: number;
  readonly pruned: number;
}

/** Writes events as a recording, in the order in which they were received, in constant memory. */
export async function exportRecording(
  store: Pick<EventStore, 'received' | 'count'>,
  { filter, write, redactKey, listener = UNWATCHED, signal = UNINTERRUPTED }: Export,
): Promise<Exported> {
  const redact = redactKey ? redactor(redactKey) : (recorded: Recorded) => recorded;
  const stage = listener.begin('exported');
  const total = await store.count(filter);
  let exported = 0;
  let pruned = 0;
  for await (const page of store.received(filter)) {
    if (signal.aborted) break;
    let lines = '';
    for (const { body, receivedAt, webhookId } of page) {
      if (body === undefined) {
        pruned++;
        continue;
      }
      lines += `${toLine(redact({ body, receivedAt, webhookId }))}\n`;
      exported++;
    }
    if (lines !== '') await write(lines);
    stage.show(exported, (exported + pruned) / total);
  }
  stage.end();
  return { exported, pruned };
}
