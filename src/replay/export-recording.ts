import { createHmac, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { jsonOf } from '../base/answer-body.ts';
import { KitError, messageOf } from '../base/errors.ts';
import { ALPHANUMERIC } from '../base/seeded-random.ts';
import { visible } from '../base/text.ts';
import type { JsonObject } from '../notification/json.ts';
import { eventTimeOf } from '../notification/payload.ts';
import type { EventFilter, StoreReader } from '../store/event-store.ts';
import { linesOf, type RecordedNotification, toLine } from './recording-lines.ts';
import { type ReplayListener, UNINTERRUPTED, UNWATCHED } from './replay-listener.ts';

export interface Export {
  readonly filter: EventFilter;
  /** takes some lines; the next ones follow once it resolves */
  readonly write: WriteLines;
  /** redacts the recording with this key */
  readonly redactKey?: Uint8Array | undefined;
  readonly listener?: ReplayListener;
  /** ends the export with its reason, after the lines that are being written */
  readonly signal?: AbortSignal;
}

/**
 * Writes events as a recording, in the order in which they were received, in constant memory.
 * @returns how many it wrote, and how many it left out because their bodies were pruned
 */
export async function exportRecording(
  store: StoreReader,
  { filter, write, redactKey, listener = UNWATCHED, signal = UNINTERRUPTED }: Export,
) {
  const redact = redactKey ? redactor(redactKey) : (recorded: RecordedNotification) => recorded;
  using stage = listener.begin('exported');
  const upTo = await store.queue.lastSeq();
  let exported = 0;
  let pruned = 0;
  for await (const page of store.queue.received(filter, upTo)) {
    signal.throwIfAborted();
    let lines = '';
    for (const { body, receivedAt, webhookId, origin } of page) {
      if (body === undefined) {
        pruned++;
        continue;
      }
      lines += `${toLine(redact({ body, receivedAt, webhookId, origin }))}\n`;
      exported++;
    }
    if (lines !== '') await write(lines);
    stage.show(exported, (page.at(-1)?.seq ?? 0) / upTo);
  }
  return { exported, pruned };
}

const ID_MEMBER = /^[a-z]+(_[a-z]+)*_id$/;
const KIND_NAME = /^[a-z][a-z0-9_]{0,63}$/;
/** In bytes. */
const SHORTEST_KEY = 16;
const ID_LENGTH = 8;

/**
 * The key of a text, without the white space at its ends.
 * @param name of the key, for the error
 * @throws KitError INPUT_INVALID if the key is too short to protect anything
 */
export function redactionKey(text: string, name: string): Uint8Array {
  const key = Buffer.from(text.trim());
  if (key.length >= SHORTEST_KEY) return key;
  throw new KitError(
    'INPUT_INVALID',
    `${name} is shorter than ${SHORTEST_KEY} bytes: make one with openssl rand -base64 32`,
  );
}

/**
 * Makes a function that takes the names of media, channels, sites and webhooks out of recordings. With one key, the same
 * id always becomes the same other id of 8 letters and digits; without the key that id cannot be computed. A body keeps
 * its kind, its time and its ids; every other member could hold a name and is dropped.
 * @param key at least 16 bytes
 */
export function redactor(key: Uint8Array): (recorded: RecordedNotification) => RecordedNotification {
  const member = (name: string, value: unknown, isTimeValid: boolean): string | undefined => {
    if (typeof value !== 'string') return undefined;
    if (name === 'event') return KIND_NAME.test(value) ? value : 'redacted';
    if (name === 'event_time') return isTimeValid ? value : undefined;
    return ID_MEMBER.test(name) ? redactedId(value, key) : undefined;
  };
  return ({ body, receivedAt, webhookId, origin }) => {
    const value = JSON.parse(body) as JsonObject; // checked when it was received
    const isTimeValid = eventTimeOf(value) !== undefined;
    const left: Record<string, unknown> = {};
    for (const [name, given] of Object.entries(value)) left[name] = member(name, given, isTimeValid);
    return { body: JSON.stringify(left), receivedAt, webhookId: redactedId(webhookId, key), origin };
  };
}

/** Another id: among a million, two become alike in one recording of 400. A missing id stays missing. */
function redactedId(id: string, key: Uint8Array): string {
  if (id === '') return '';
  const mac = createHmac('sha256', key).update(id).digest();
  const places = Array.from({ length: ID_LENGTH }, (_, place) => mac.readUInt16BE(2 * place));
  return places.map((place) => ALPHANUMERIC[place % ALPHANUMERIC.length]).join('');
}

/** Appends lines of text. A user may read them on a terminal, so characters that a terminal obeys are escaped. */
export type WriteLines = (text: string) => Promise<void>;

/**
 * Writes a file that appears whole or not at all: beside its place first, and renamed into it once the work has ended
 * well. If the work fails, nothing of it stays. A device or a pipe is written into as the work goes on.
 * @throws KitError OUTPUT_FAILED if the file cannot be written, or would replace a file of another kind, such as package.json
 */
export async function writeWholeFile<T>(path: string, work: (write: WriteLines) => Promise<T>): Promise<T> {
  const writing = async <R>(step: () => Promise<R>): Promise<R> => {
    try {
      return await step();
    } catch (cause) {
      throw new KitError('OUTPUT_FAILED', `cannot write ${path}: ${messageOf(cause)}`, { cause });
    }
  };
  const target = await realpath(path).catch(() => path); // not there yet
  // Renaming would replace what other programs read from: a pipe, or /dev/null for everybody.
  const isFile = (await stat(target).catch(() => undefined))?.isFile();
  if (isFile && !(await isOurs(target)))
    throw new KitError('OUTPUT_FAILED', `${path} exists and is no recording: name another file`);
  const isReplaced = isFile ?? true;
  const draft = isReplaced ? `${target}.${randomUUID()}.draft` : target;
  const file: FileHandle = await writing(() => open(draft, 'w', 0o600)); // notifications are for the owner alone
  try {
    const result = await work((text) => writing(() => file.writeFile(visible(text))));
    await writing(() => file.close());
    if (isReplaced) await writing(() => rename(draft, target));
    return result;
  } catch (error) {
    await file.close().catch(() => {}); // the first error is the one to tell
    if (isReplaced) await unlink(draft).catch(() => {});
    throw error;
  }
}

/** Whether a file is empty, or its first line is a recorded notification, a payload or a cursor. */
async function isOurs(path: string): Promise<boolean> {
  try {
    for await (const text of linesOf(createReadStream(path))) {
      if (text?.trim() === '') continue;
      const { body, event, cursor } = Object(jsonOf(text ?? ''));
      return [body, event, cursor].some((member) => typeof member === 'string');
    }
    return true;
  } catch {
    return false; // it cannot be read, or its first line is longer than any of ours
  }
}
