import { z } from 'zod';
import { type JsonObject, parseBody } from '../notification/json.ts';
import { numberedLines } from './numbered-lines.ts';

/** The form of a recording's lines. A line without `v` is of version 1. */
const VERSION = 1;

/** A notification as it was received: enough to send it again anywhere. */
export interface Recorded {
  /** the text as received */
  readonly body: string;
  /** milliseconds since the epoch */
  readonly receivedAt: number;
  readonly webhookId: string;
}

/** A line of a recording with its body's value; or its problem. */
export type ReadLine =
  | { readonly recorded: Recorded; readonly value: JsonObject; readonly problem?: undefined }
  | { readonly problem: string };

const lineSchema = z.looseObject({
  body: z.string({ error: '"body" must be the text of the notification' }),
  received_at: z.iso.datetime({ offset: true, error: '"received_at" must be an ISO 8601 date and time' }),
  webhook_id: z.string({ error: '"webhook_id" must be a text' }),
});

/** A recording's line, without the line break. */
export function toLine({ body, receivedAt, webhookId }: Recorded): string {
  const received_at = new Date(receivedAt).toISOString();
  return JSON.stringify({ v: VERSION, body, received_at, webhook_id: webhookId });
}

/** Reads a line. Its problem quotes nothing of it: recordings hold ids. */
export function parseLine(text: string): ReadLine {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return { problem: 'not valid JSON' };
  }
  const version = versionOf(line);
  if (version !== VERSION) {
    return { problem: `of recording version ${version}, and this program knows ${VERSION}` };
  }
  const parsed = lineSchema.safeParse(line);
  if (!parsed.success) return { problem: parsed.error.issues[0]?.message ?? 'not a recorded notification' };
  const { received_at, webhook_id: webhookId } = parsed.data;
  try {
    const { text: body, value } = parseBody(Buffer.from(parsed.data.body));
    return { recorded: { body, receivedAt: Date.parse(received_at), webhookId }, value };
  } catch (error) {
    return { problem: `its body is ${error instanceof SyntaxError ? error.message : 'unreadable'}` };
  }
}

function versionOf(line: unknown): string | number {
  const given = z.looseObject({ v: z.unknown() }).safeParse(line).data?.v ?? VERSION;
  return typeof given === 'number' ? given : `of another kind`;
}

export type NumberedReadLine = ReadLine & {
  /** from 1 */
  readonly number: number;
  /** how many bytes of the file were read up to the end of this line */
  readonly bytes: number;
};

/** Reads a recording a line at a time. A broken line comes with its problem, and the next one is read. */
export async function* readRecording(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<NumberedReadLine> {
  for await (const { number, bytes, text, problem } of numberedLines(chunks)) {
    const read = text === undefined ? { problem: problem ?? 'unreadable' } : parseLine(text);
    yield { ...read, number, bytes };
  }
}
