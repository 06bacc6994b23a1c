import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { KitError, messageOf } from '../base/errors.ts';
import { say } from './print.ts';
import { pathOf, terminal } from './terminal.ts';

interface Input {
  /** a file; `-` or none: stdin */
  readonly file: string | undefined;
  /** its name in error messages */
  readonly what: string;
  /** the most bytes to read: a device or a pipe may be endless */
  readonly limit: number;
}

export function isStdin(file: string | undefined): file is '-' | undefined {
  return file === undefined || file === '-';
}

/** A file, or stdin, as it is read. Says so where that waits for somebody at a terminal. */
function openInput(file: string | undefined): Readable {
  if (!isStdin(file)) return createReadStream(pathOf(file));
  const { stdin } = terminal();
  if (stdin.isTTY) say('reading from the terminal, up to Ctrl-D at the beginning of a line');
  return stdin;
}

/**
 * Reads a whole file, or all of stdin.
 * @throws KitError INPUT_INVALID if it cannot be read, or is longer than the limit
 */
export async function readInput({ file, what, limit }: Input): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of openInput(file)) {
      pieces.push(Buffer.from(piece));
      length += piece.length;
      if (length > limit) break;
    }
  } catch (cause) {
    throw new KitError('INPUT_INVALID', `cannot read ${what}: ${messageOf(cause)}`, { cause });
  }
  if (length <= limit) return Buffer.concat(pieces, length);
  throw new KitError('INPUT_INVALID', `${what} is longer than ${limit} bytes: give another file`);
}
