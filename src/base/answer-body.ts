const MIB = 1024 * 1024;

/** An answer went on beyond the length that is read; its connection is closed. */
export class AnswerTooLong extends Error {}

type Answer = { readonly body: AsyncIterable<Uint8Array> | null };

/**
 * The text of an answer's body, once it has ended. Leaving a loop over a stream by an error closes the stream, and with it the connection.
 * @param longest in bytes, after decompression. No API or receiver has a reason to answer more, and more must not fill the memory
 * @throws AnswerTooLong
 */
export async function bodyTextOf({ body }: Answer, longest = MIB): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > longest) throw new AnswerTooLong(`the answer is longer than ${longest / MIB} MiB`);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** The value of a text; undefined if it is not JSON. The error of JSON.parse would quote the text, which may hold a secret. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
