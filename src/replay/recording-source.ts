import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { KitError, messageOf } from '../base/errors.ts';
import type { EventFilter } from '../store/event-store.ts';
import { matches, type RecordedEvent, recordedEvent, type Source, UNTOLD } from './recorded-event.ts';
import { readRecording } from './recording-lines.ts';
import { UNINTERRUPTED } from './replay-listener.ts';

export interface RecordingOptions {
  readonly filter?: EventFilter;
  /** how often it is read; a recording that can be read only once is copied if that is more than once */
  readonly times?: 1 | 2;
  /** how errors name the recording; without it, its path, or `-` for a stream */
  readonly name?: string;
  /** ends the reading, even if a pipe keeps it waiting */
  readonly signal?: AbortSignal;
}

/**
 * The events of a recording that a filter takes, read a line at a time.
 * @param from a file, or a stream such as stdin
 * @throws KitError INPUT_INVALID if the recording cannot be read, OUTPUT_FAILED if there is no room for its copy
 */
export async function recordingSource(
  from: string | Readable,
  options: RecordingOptions = {},
): Promise<Source> {
  const { filter = {}, times = 1, signal = UNINTERRUPTED } = options;
  const { name = typeof from === 'string' ? from : '-' } = options;
  const recording = await openRecording(from, { name, times, signal });
  return {
    async *read({ broken } = UNTOLD): AsyncGenerator<RecordedEvent> {
      try {
        for await (const line of readRecording(addAbortSignal(signal, recording.read()))) {
          if (line.problem !== undefined) {
            broken(line.number, line.problem);
            continue;
          }
          const share = recording.size && line.bytes / recording.size;
          const event = recordedEvent(line.recorded, line.value, share);
          if (matches(event, filter)) yield event;
        }
      } catch (cause) {
        if (signal.aborted) return;
        cannotRead(name, cause);
      }
    },
    close: recording.close,
  };
}

interface OpenRecording {
  /** in bytes; undefined if unknown */
  readonly size: number | undefined;
  read(): Readable;
  close(): Promise<void>;
}

interface Opening {
  readonly name: string;
  readonly times: 1 | 2;
  readonly signal: AbortSignal;
}

async function openRecording(
  from: string | Readable,
  { name, times, signal }: Opening,
): Promise<OpenRecording> {
  const read = () => (typeof from === 'string' ? createReadStream(from) : from);
  const found =
    typeof from === 'string' ? await stat(from).catch((cause) => cannotRead(name, cause)) : undefined;
  const size = found?.isFile() === true ? found.size : undefined;
  if (times === 1 || size !== undefined) return { size, read, async close() {} };
  return copyOf(read(), name, signal);
}

/** Copies a stream into a file without a name: nothing is left of it, however the process ends. */
async function copyOf(stream: Readable, name: string, signal: AbortSignal): Promise<OpenRecording> {
  const file = await namelessFile();
  try {
    for await (const chunk of addAbortSignal(signal, stream)) {
      await file.writeFile(chunk).catch((cause) => noRoom(cause));
    }
  } catch (cause) {
    await file.close();
    signal.throwIfAborted();
    if (cause instanceof KitError) throw cause;
    cannotRead(name, cause);
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

function cannotRead(name: string, cause: unknown): never {
  throw new KitError('INPUT_INVALID', `cannot read the recording ${name}: ${messageOf(cause)}`, { cause });
}
