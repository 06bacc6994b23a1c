import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { jsonOf } from '../base/answer-body.ts';
import { headlineOf } from '../base/thrown.ts';
import type { JsonObject } from '../notification/json.ts';
import { type Origin, TOLD } from '../notification/kinds.ts';
import { eventTimeOf } from '../notification/payload.ts';
import { readBody, webhookOf } from './compose.ts';

/** The form of a recording's lines. A line without `v` is of version 1. */
const VERSION = 1;

/** The place of an event and when it was received: in another database, another event has this place. */
export const CURSOR = /^[0-9a-z]{1,10}-[0-9a-z]{1,10}$/;

/** How an event can end. */
export const ENDS = ['handled', 'skipped', 'dead'] as const;

/** The end that a line expects of its event. What is not given may be anything. */
const endSchema = z.strictObject({
  status: z.enum(ENDS).optional(),
  attempts: z.int().min(0).optional(),
  reason: z.string().transform(headlineOf).optional(),
  state: z.record(z.string(), z.unknown()).optional(),
  reminders: z.record(z.string(), z.int().min(1)).optional(),
});
/** With `subscribers`, those and no others have an event of the notification. */
const expectSchema = endSchema.extend({ subscribers: z.record(z.string(), endSchema).optional() });

/** A notification as it was received: enough to send it again anywhere. */
export interface RecordedNotification {
  /** the text as received */
  readonly body: string;
  /** milliseconds since the epoch */
  readonly receivedAt: number;
  readonly webhookId: string;
  /** without one, the provider has sent it */
  readonly origin?: Origin | undefined;
  /** the end that a check expects of its event */
  readonly expect?: Readonly<z.infer<typeof expectSchema>> | undefined;
  /** the other members of its line, such as its cursor or a note */
  readonly others?: Readonly<Record<string, unknown>>;
}

/** A recorded notification with its body's value; or what is wrong with it. */
export type ReadLine =
  | { readonly recorded: RecordedNotification; readonly value: JsonObject; readonly problem?: undefined }
  | { readonly problem: string };

const lineSchema = z.looseObject({
  v: z
    .literal(VERSION, {
      error: ({ input }) => `version ${Number(input)}, and this program knows ${VERSION}`,
    })
    .optional(),
  body: z.string({ error: 'it must be the text of the notification' }),
  received_at: z.iso.datetime({ offset: true, error: 'it must be an ISO 8601 date and time' }),
  webhook_id: z.string({ error: 'it must be a text' }),
  origin: z.literal(TOLD).optional(),
  expect: expectSchema.optional(),
});

/** A recording's line, without the line break. */
export function toLine({ body, receivedAt, webhookId, others, expect, ...of }: RecordedNotification): string {
  const received_at = new Date(receivedAt).toISOString();
  const origin = of.origin === 'notification' ? undefined : of.origin;
  return JSON.stringify({ v: VERSION, body, received_at, webhook_id: webhookId, origin, ...others, expect });
}

/** Reads a line of a recording, or one that is a payload itself. Its problem quotes nothing of it: recordings hold ids. */
export function parseLine(text: string): ReadLine {
  const line = jsonOf(text);
  if (line === undefined) return { problem: 'not valid JSON' };
  if (typeof Object(line).event === 'string' && !('body' in Object(line)))
    return ofPayload(Buffer.from(text));
  const { data, error } = lineSchema.safeParse(line);
  if (!data) return { problem: problemIn(error) };
  const { v: _, body, received_at, webhook_id: webhookId, origin, expect, ...others } = data;
  const read = readBody(Buffer.from(body));
  if (read.problem !== undefined) return { problem: `its body is ${read.problem}` };
  const receivedAt = Date.parse(received_at);
  const recorded = { body: read.text, receivedAt, webhookId, origin, expect, others };
  return { recorded, value: read.value };
}

function problemIn({ issues: [first] }: z.ZodError): string {
  if (!first || first.path.length === 0) return 'not a recorded notification';
  return `"${first.path.join('.')}": ${first.message}`;
}

/** A payload that nothing else is known of. @param receivedAt when it happened, if that is not known */
function ofPayload(bytes: Buffer, receivedAt?: number): ReadLine {
  const read = readBody(bytes);
  if (read.problem !== undefined) return { problem: `its body is ${read.problem}` };
  const at = receivedAt ?? eventTimeOf(read.value);
  if (at === undefined) return { problem: 'it has neither a time of receipt nor an "event_time"' };
  const recorded = { body: read.text, receivedAt: at, webhookId: webhookOf(bytes) ?? '' };
  return { recorded, value: read.value };
}

/** The members of an entry of HAR 1.2 that are read. Some tools write null for absent members, invalid times, and bodies in base64. */
const text = z.string().nullish();
const time = z.iso.datetime({ offset: true }).transform(Date.parse).optional().catch(undefined);
const postData = z.object({ mimeType: text, text, encoding: text }).nullish();
const harEntry = z.object({ startedDateTime: time, request: z.object({ method: z.string(), postData }) });

type PlacedLine = ReadLine & { readonly place: string };

/** The captured requests that post JSON. Their headers are left aside: a replay signs again. */
function captured(entries: readonly unknown[]): PlacedLine[] {
  return entries.flatMap((entry, index) => {
    const place = `entry ${index + 1}`;
    const { data, error } = harEntry.safeParse(entry);
    if (!data) return { place, problem: problemIn(error) };
    const { startedDateTime, request } = data;
    const { mimeType, text, encoding } = request.postData ?? {};
    if (request.method !== 'POST' || !text) return [];
    const body = Buffer.from(text, encoding === 'base64' ? 'base64' : 'utf8');
    // Pages post other things as well, such as lists. What should be JSON and is none may be a notification that was cut off.
    const isCutOff = /json/i.test(mimeType ?? '') && jsonOf(`${body}`) === undefined;
    const isObject = readBody(body).problem === undefined;
    return isObject || isCutOff ? { place, ...ofPayload(body, startedDateTime) } : [];
  });
}

const timeOf = (line: ReadLine) => (line.problem === undefined ? line.recorded.receivedAt : 0);
const byTime = (one: ReadLine, other: ReadLine) => timeOf(one) - timeOf(other);

/** The contents of a file without a line for each event: a HAR file, a list, or indented payloads one after the other. */
function entriesOf(file: string): PlacedLine[] {
  const value = jsonOf(file);
  const { log } = Object(value);
  if (Array.isArray(log?.entries)) return captured(log.entries).toSorted(byTime);
  const values = value === undefined ? file.split(/\n(?=[[{])/).flatMap(jsonOf) : [value].flat();
  return values.map((one, index) => ({ place: `entry ${index + 1}`, ...parseLine(JSON.stringify(one)) }));
}

/** The first line of such a file. */
const NO_LINE_OF_ITS_OWN = /^(\[|\{\s*"log"|\{(.*[[{,])?$)/;

/**
 * Reads a recording, a line at a time, or a file of another form as a whole.
 * @throws Error if a line or such a file is too long
 */
export async function* readRecording(chunks: AsyncIterable<Buffer>): AsyncGenerator<PlacedLine> {
  const lines = linesOf(chunks);
  let number = 0;
  for await (const whole of lines) {
    number++;
    const text = whole?.trim();
    if (text === '') continue;
    if (number === 1 && NO_LINE_OF_ITS_OWN.test(text ?? ''))
      return yield* entriesOf(await wholeOf(text, lines));
    const line = text === undefined ? { problem: 'not valid UTF-8' } : parseLine(text);
    yield { place: `line ${number}`, ...line };
  }
}

/** All of a file whose first line is read. */
async function wholeOf(first: string | undefined, lines: AsyncIterable<string | undefined>): Promise<string> {
  let whole = first ?? '';
  for await (const text of lines) {
    if (text === undefined) throw new Error('it is not valid UTF-8');
    whole += `\n${text}`;
    if (whole.length > LONGEST)
      throw new Error(`${LONGEST / MIB} MiB are the most for a file without a line for each event`);
  }
  return whole;
}

/** Splits bytes into lines; one that is not UTF-8 is undefined. Only one is in memory at a time. @throws Error if one is too long */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string | undefined> {
  let line = ''; // in which each character is a byte: a character of UTF-8 may lie in two chunks
  for await (const chunk of chunks) {
    const [end, ...starts] = chunk.toString('latin1').split('\n');
    line += end;
    if (line.length > LONGEST) throw new Error(`a line is longer than ${LONGEST / MIB} MiB`);
    for (const start of starts) {
      yield textOf(line);
      line = start;
    }
  }
  yield textOf(line);
}

function textOf(line: string): string | undefined {
  const bytes = Buffer.from(line, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

const MIB = 1024 * 1024;
/** No recording has a longer line: a file of another sort must not fill the memory. */
const LONGEST = 48 * MIB;
