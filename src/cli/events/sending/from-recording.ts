import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { KitError, messageOf } from '../../../errors.ts';
import { readRecording } from '../../../recording/read.ts';
import type { EventFilter } from '../../../store/event-store.ts';
import { type Outgoing, outgoing } from './outgoing.ts';

export interface RecordingOptions {
  readonly filter: EventFilter;
  /** called for each line that cannot be read */
  readonly onBroken: (line: number, problem: string) => void;
  /** ends the reading, even where a pipe keeps it waiting */
  readonly signal: AbortSignal;
}

/**
 * The notifications of a recording that a filter means, a line at a time.
 * @param path a file, or `-` for stdin
 * @throws KitError INPUT_INVALID if the file cannot be read
 */
export async function* fromRecording(
  path: string,
  { filter, onBroken, signal }: RecordingOptions,
): AsyncGenerator<Outgoing> {
  try {
    const size = path === '-' ? undefined : (await stat(path)).size;
    const stream = addAbortSignal(signal, path === '-' ? process.stdin : createReadStream(path));
    for await (const read of readRecording(stream)) {
      if (read.problem !== undefined) {
        onBroken(read.number, read.problem);
        continue;
      }
      const item = outgoing(read.recorded, read.value, size && read.bytes / size);
      if (matches(item, filter)) yield item;
    }
  } catch (cause) {
    if (signal.aborted) return;
    throw new KitError('INPUT_INVALID', `cannot read the recording ${path}: ${messageOf(cause)}`, { cause });
  }
}

/** What the store does with a filter, for what is not in a store. */
function matches(item: Outgoing, filter: EventFilter): boolean {
  const { ids, kind, site, resource, webhook, since, until, q } = filter;
  return (
    (ids === undefined || ids.includes(item.id)) &&
    (kind === undefined || [kind].flat().includes(item.kind)) &&
    (site === undefined || site === item.siteId) &&
    (resource === undefined || resource === item.resource) &&
    (webhook === undefined || webhook === item.webhookId) &&
    (since === undefined || item.eventTime >= since) &&
    (until === undefined || item.eventTime < until) &&
    (q === undefined || item.body.includes(q))
  );
}
