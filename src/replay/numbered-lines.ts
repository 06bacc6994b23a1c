/** Longer lines than this are skipped: a file that is no recording must not fill the memory. */
const LONGEST_LINE = 48 * 1024 * 1024;

const NEWLINE = 0x0a;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A line of a file, or what is wrong with it. */
export interface NumberedLine {
  /** from 1 */
  readonly number: number;
  /** undefined where the line cannot be read */
  readonly text: string | undefined;
  readonly problem: string | undefined;
  /** how many bytes of the file were read up to its end */
  readonly bytes: number;
}

/** Splits bytes into lines, empty ones left out, holding one line at a time. */
export async function* numberedLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<NumberedLine> {
  let parts: Uint8Array[] = [];
  let length = 0;
  let number = 0;
  let bytes = 0;
  const take = (part: Uint8Array) => {
    length += part.length;
    if (length <= LONGEST_LINE) parts.push(part);
    else parts = [];
  };
  const end = (): NumberedLine | undefined => {
    number++;
    const line = length > LONGEST_LINE ? { problem: 'too long to be a notification' } : decode(parts);
    const isEmpty = length === 0 || ('text' in line && line.text.trim() === '');
    parts = [];
    length = 0;
    return isEmpty ? undefined : { text: undefined, problem: undefined, ...line, number, bytes };
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to !== -1; to = chunk.indexOf(NEWLINE, from)) {
      take(chunk.subarray(from, to));
      bytes += to + 1 - from;
      from = to + 1;
      const line = end();
      if (line) yield line;
    }
    take(chunk.subarray(from));
    bytes += chunk.length - from;
  }
  const last = end();
  if (last) yield last;
}

function decode(parts: readonly Uint8Array[]): { text: string } | { problem: string } {
  try {
    return { text: utf8.decode(parts.length === 1 ? parts[0] : Buffer.concat(parts)) };
  } catch {
    return { problem: 'not valid UTF-8' };
  }
}
