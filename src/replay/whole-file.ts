import { randomUUID } from 'node:crypto';
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { KitError, messageOf } from '../base/errors.ts';
import { visible } from '../base/text.ts';

/** Appends lines of text. A user may read them on a terminal, so characters that a terminal obeys are escaped. */
export type WriteLines = (text: string) => Promise<void>;

/**
 * Writes a file that appears whole or not at all: beside its place first, and renamed into it once the work has ended
 * well. If the work fails, nothing of it stays. A device or a pipe is written into as the work goes on.
 * @throws KitError OUTPUT_FAILED if the file cannot be written, or would replace a file of another kind, such as a database
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
  const isReplaced = (await stat(target).catch(() => undefined))?.isFile() ?? true;
  if (isReplaced && !(await hasLines(target)))
    throw new KitError('OUTPUT_FAILED', `${path} is there, and has no lines of JSON: name another file`);
  const draft = isReplaced ? `${target}.${randomUUID()}.draft` : target;
  const file: FileHandle = await writing(() => open(draft, 'w', 0o600)); // notifications are for the owner alone
  try {
    let written = Promise.resolve();
    // One after the other, also where several notifications are sent at once.
    const write: WriteLines = (text) =>
      (written = written.then(() => writing(() => file.writeFile(visible(text)))));
    const result = await work(write);
    await writing(() => file.close());
    if (isReplaced) await writing(() => rename(draft, target));
    return result;
  } catch (error) {
    await file.close().catch(() => {}); // the first error is the one to tell
    if (isReplaced) await unlink(draft).catch(() => {});
    throw error;
  }
}

/** Whether a file is empty, not there, or begins as lines of JSON objects do. */
async function hasLines(path: string): Promise<boolean> {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return true;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1)).finally(() => file.close());
  return bytesRead === 0 || buffer.toString() === '{';
}
