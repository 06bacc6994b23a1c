import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { jsonOf } from '../base/answer-body.ts';
import type { JsonObject } from '../notification/json.ts';
import { readBody } from './compose.ts';

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
  v: z
    .literal(VERSION, {
      error: ({ input }) => `of recording version ${Number(input)}, and this program knows ${VERSION}`,
    })
    .optional(),
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
  const line = jsonOf(text);
  if (line === undefined) return { problem: 'not valid JSON' };
  const { data, error } = lineSchema.safeParse(line);
  if (!data) return { problem: error.issues[0]?.message ?? 'not a recorded notification' };
  const { received_at, webhook_id: webhookId } = data;
  const read = readBody(Buffer.from(data.body));
  if (read.problem !== undefined) return { problem: `its body is ${read.problem}` };
  const recorded = { body: read.text, receivedAt: Date.parse(received_at), webhookId };
  return { recorded, value: read.value };
}

/** A line of a file. */
export interface NumberedLine {
  /** from 1 */
  readonly number: number;
  /** undefined if it is not UTF-8 */
  readonly text: string | undefined;
}

/** Splits bytes into lines, without the empty ones. Only one line is in memory at a time. @throws Error if one is too long */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<NumberedLine> {
  let number = 0;
  for await (const line of splitAtNewlines(chunks)) {
    number++;
    const bytes = Buffer.from(line, 'latin1');
    const text = isUtf8(bytes) ? bytes.toString().trim() : undefined;
    if (text !== '') yield { number, text };
  }
}

const MIB = 1024 * 1024;
/** No recording has a longer line: a file of another sort must not fill the memory. */
const LONGEST_LINE = 48 * MIB;

/** Yields lines in which each character is a byte: a character of UTF-8 may lie in two chunks. */
async function* splitAtNewlines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let line = '';
  for await (const chunk of chunks) {
    const [end, ...starts] = chunk.toString('latin1').split('\n');
    line += end;
    if (line.length > LONGEST_LINE) throw new Error(`a line is longer than ${LONGEST_LINE / MIB} MiB`);
    for (const start of starts) {
      yield line;
      line = start;
    }
  }
  yield line;
}
