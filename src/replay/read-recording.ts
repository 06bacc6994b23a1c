import { numberedLines } from './numbered-lines.ts';
import { parseLine, type ReadLine } from './recording-lines.ts';

export type NumberedReadLine = ReadLine & {
  /** from 1 */
  readonly number: number;
  /** how many bytes of the file were read up to its end */
  readonly bytes: number;
};

/** Reads a recording, a line at a time; a line that is broken is told as such, and the next one is read. */
export async function* readRecording(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<NumberedReadLine> {
  for await (const { number, bytes, text, problem } of numberedLines(chunks)) {
    const read = text === undefined ? { problem: problem ?? 'unreadable' } : parseLine(text);
    yield { ...read, number, bytes };
  }
}
