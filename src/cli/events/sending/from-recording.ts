import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { KitError, messageOf } from '../../../base/errors.ts';
import { readRecording } from '../../../recording/read.ts';
import type { EventFilter } from '../../../store/event-store.ts';
import { pathOf, terminal } from '../../terminal.ts';
import { type Outgoing, outgoing } from './outgoing.ts';

/** A recording that can be read from its start as often as need be. */
export interface RecordingSource {
  /** in bytes; undefined where nobody knows */
  readonly size: number | undefined;
  read(): Readable;
  close(): Promise<void>;
}

/**
 * Finds a recording.
 * @param path a file, or `-` for stdin
 * @param times how often it is to be read: what comes through a pipe is copied if that is more than once
 * @throws KitError INPUT_INVALID if there is no such file, OUTPUT_FAILED if there is no room for the copy
 */
export async function findRecording(
  path: string,
  { times, signal }: { readonly times: 1 | 2; readonly signal: AbortSignal },
): Promise<RecordingSource> {
  const found = path === '-' ? undefined : await stat(pathOf(path)).catch((cause) => cannotRead(path, cause));
  const open = () => (path === '-' ? terminal().stdin : createReadStream(pathOf(path)));
  const isFile = found?.isFile() === true;
  if (times === 1 || isFile) return { size: isFile ? found.size : undefined, read: open, async close() {} };
  return copyOf(open(), path, signal);
}

/** A copy of what can be read once only, in a file without a name: nothing is left however the command ends. */
async function copyOf(stream: Readable, path: string, signal: AbortSignal): Promise<RecordingSource> {
  const file = await namelessFile();
  try {
    for await (const chunk of addAbortSignal(signal, stream)) {
      await file.writeFile(chunk).catch((cause) => noRoom(cause));
    }
  } catch (cause) {
    await file.close();
    signal.throwIfAborted();
    if (cause instanceof KitError) throw cause;
    cannotRead(path, cause);
  }
  const { size } = await file.stat();
  return {
    size,
    read: () => file.createReadStream({ start: 0, autoClose: false }),
    close: () => file.close(),
  };
}

async function namelessFile(): Promise<FileHandle> {
  try {
    const directory = await mkdtemp(join(tmpdir(), 'hookkit-'));
    try {
      return await open(join(directory, 'recording'), 'wx+', 0o600);
    } finally {
      await rm(directory, { recursive: true });
    }
  } catch (cause) {
    noRoom(cause);
  }
}

function noRoom(cause: unknown): never {
  const message = `cannot keep the recording in the temporary directory (TMPDIR): ${messageOf(cause)}`;
  throw new KitError('OUTPUT_FAILED', message, { cause });
}

function cannotRead(path: string, cause: unknown): never {
  throw new KitError('INPUT_INVALID', `cannot read the recording ${path}: ${messageOf(cause)}`, { cause });
}

export interface RecordingOptions {
  readonly path: string;
  readonly filter: EventFilter;
  /** called for each line that cannot be read */
  readonly onBroken: (line: number, problem: string) => void;
  /** ends the reading, even where a pipe keeps it waiting */
  readonly signal: AbortSignal;
}

/**
 * The notifications of a recording that a filter means, a line at a time.
 * @throws KitError INPUT_INVALID if the file cannot be read
 */
export async function* fromRecording(
  source: RecordingSource,
  { path, filter, onBroken, signal }: RecordingOptions,
): AsyncGenerator<Outgoing> {
  try {
    for await (const read of readRecording(addAbortSignal(signal, source.read()))) {
      if (read.problem !== undefined) {
        onBroken(read.number, read.problem);
        continue;
      }
      const item = outgoing(read.recorded, read.value, source.size && read.bytes / source.size);
      if (matches(item, filter)) yield item;
    }
  } catch (cause) {
    if (signal.aborted) return;
    cannotRead(path, cause);
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
