const MIB = 1024 * 1024;

/** Longer lines are skipped, so that a file of another sort cannot fill the memory. */
const LONGEST_LINE = 48 * MIB;

const NEWLINE = 0x0a;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A line of a file, or its problem. */
export interface NumberedLine {
  /** from 1 */
  readonly number: number;
  /** undefined if the line cannot be read */
  readonly text: string | undefined;
  readonly problem: string | undefined;
  /** how many bytes of the file were read up to the end of this line */
  readonly bytes: number;
}

/** Splits bytes into lines, without the empty ones. Only one line is in memory at a time. */
export async function* numberedLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<NumberedLine> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  let number = 0;
  let bytes = 0;
  const take = (piece: Uint8Array) => {
    length += piece.length;
    if (length <= LONGEST_LINE) pieces.push(piece);
    else pieces = [];
  };
  const end = (): NumberedLine | undefined => {
    number++;
    const line =
      length > LONGEST_LINE ? { problem: `longer than ${LONGEST_LINE / MIB} MiB` } : decode(pieces);
    const isEmpty = length === 0 || ('text' in line && line.text.trim() === '');
    pieces = [];
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

function decode(pieces: readonly Uint8Array[]): { text: string } | { problem: string } {
  try {
    return { text: utf8.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)) };
  } catch {
    return { problem: 'not valid UTF-8' };
  }
}
