import type { IncomingMessage } from 'node:http';

const MIB = 1024 * 1024;
/** In bytes, after decompression. No API or receiver has a reason to answer more, and more must not fill the memory. */
const LONGEST_ANSWER = MIB;

/** An answer went on beyond the length that is read; its connection is closed. */
export class AnswerTooLong extends Error {}

/** The body of a fetched answer. @param longest in bytes @throws AnswerTooLong */
export async function bodyTextOf({ body }: Response, longest = LONGEST_ANSWER): Promise<string> {
  if (body === null) return '';
  return new TextDecoder().decode(await bytesOf(body, longest));
}

/** The first so many characters of a body, once it has ended. @throws AnswerTooLong */
export async function beginningOf(response: IncomingMessage, characters: number): Promise<string> {
  return (await bytesOf(response, LONGEST_ANSWER)).toString('utf8').slice(0, characters);
}

/** The value of a text; undefined if it is not JSON. The error of JSON.parse would quote the text, which may hold a secret. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Leaving a loop over a stream by an error closes the stream, and with it the connection. */
async function bytesOf(body: AsyncIterable<Uint8Array>, longest: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > longest) throw new AnswerTooLong(`the answer is longer than ${longest / MIB} MiB`);
  }
  return Buffer.concat(chunks);
}
