import { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import { runStateOf } from '../dispatch/resource-state.ts';
import { parseJsonText } from '../notification/json.ts';
import { isId } from '../notification/payload.ts';
import type { StatePlace } from '../store/event-search.ts';
import type { EventStore, StateChange, StateValue } from '../store/event-store.ts';
import { numberedLines } from './numbered-lines.ts';
import { UNINTERRUPTED } from './replay-listener.ts';

/** The form of the lines. A line without `v` is of version 1. */
const VERSION = 1;
/** How many states go to the store at once, of up to 64 KB each: they can share commits. */
const TOGETHER = 100;

export interface StateExport {
  /** takes some lines; the next ones follow once it resolves */
  readonly write: (lines: string) => Promise<void>;
  /** ends the export after the lines that are being written */
  readonly signal?: AbortSignal;
}

/**
 * Writes what handlers keep (`ctx.state`) as NDJSON, a line for each channel, event and media that has something, in the order
 * of their names: `{"v":1,"resource":"media:ID","state":{"name":value}}`. Memory does not grow with their number. What handlers
 * change meanwhile is in it or not; the state of one resource is of one moment, unless it has hundreds of names.
 * @returns how many resources were written
 */
export async function exportStates(
  store: Pick<EventStore, 'states'>,
  { write, signal = UNINTERRUPTED }: StateExport,
): Promise<number> {
  let exported = 0;
  for (const group of ['channel', 'event', 'media'] as const) {
    let open: { readonly resource: string; readonly values: StateValue[] } | undefined;
    let after: StatePlace | undefined;
    do {
      const { values, next } = await store.states({ of: group, after });
      let lines = '';
      for (const { resource, ...value } of values) {
        if (open?.resource !== resource) {
          if (open) lines += toLine(open.resource, open.values);
          open = { resource, values: [] };
          exported++;
        }
        open.values.push(value);
      }
      if (open && next === undefined) lines += toLine(open.resource, open.values);
      if (lines !== '') await write(lines);
      after = next;
    } while (after && !signal.aborted);
    if (signal.aborted) break;
  }
  return exported;
}

/** The values are JSON, and stand in the line as they are stored. */
function toLine(resource: string, values: readonly StateValue[]): string {
  const members = values.map(({ name, value }) => `${JSON.stringify(name)}:${value}`);
  return `{"v":${VERSION},"resource":${JSON.stringify(resource)},"state":{${members.join(',')}}}\n`;
}

/** The state of a resource, as a line has it. */
interface ReadState {
  readonly resource: string;
  readonly values: readonly StateChange[];
}

/** A line that cannot be imported. */
export interface BrokenLine {
  /** from 1 */
  readonly number: number;
  readonly problem: string;
}

export interface StateImport {
  /** how many resources have the state of their lines now */
  readonly imported: number;
  /** the line that ended the import */
  readonly broken: BrokenLine | undefined;
}

/**
 * Gives resources the state that `exportStates` has written, in place of the one that they have; others stay as they are. It
 * ends at the first line that cannot be read: what was before it is imported, and may be imported again.
 */
export async function importStates(
  store: Pick<EventStore, 'replaceState'>,
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal = UNINTERRUPTED,
): Promise<StateImport> {
  let imported = 0;
  let broken: BrokenLine | undefined;
  const gathered = new Map<string, readonly StateChange[]>();
  const replaceGathered = async () => {
    await Promise.all([...gathered].map(([resource, values]) => store.replaceState(resource, values)));
    imported += gathered.size;
    gathered.clear();
  };
  for await (const { number, text, problem } of numberedLines(chunks)) {
    if (signal.aborted) break;
    const read = text === undefined ? { problem: problem ?? 'unreadable' } : parseLine(text);
    if ('problem' in read) {
      broken = { number, problem: read.problem };
      break;
    }
    gathered.set(read.resource, read.values); // of two lines of a resource, the later one
    if (gathered.size >= TOGETHER) await replaceGathered();
  }
  await replaceGathered();
  return { imported, broken };
}

/** Deeper than any value that a handler can set. */
const DEEPEST = 10_000;

const lineSchema = z.strictObject({
  v: z.literal(VERSION, { error: `"v" must be ${VERSION}: this program knows no other version` }).optional(),
  resource: z.custom<string>(isResource, { error: '"resource" must be media:ID or channel:ID' }),
  state: z.custom<object>(isObject, { error: '"state" must be an object: values by name' }),
});

/** Events that belong to no media or channel have a resource of their own, `event:ID`. */
function isResource(member: unknown): boolean {
  const [, id] = /^(?:media|channel|event):(.+)$/s.exec(typeof member === 'string' ? member : '') ?? [];
  return isId(id);
}

function isObject(member: unknown): boolean {
  return typeof member === 'object' && member !== null && !Array.isArray(member);
}

/** Its problem quotes no value: a state may hold anything. */
function parseLine(text: string): ReadState | { readonly problem: string } {
  let line: unknown;
  try {
    line = parseJsonText(text, DEEPEST);
  } catch (error) {
    // One that could mean two things would be stored as one of them: a member twice, a number beyond double precision.
    return { problem: error instanceof SyntaxError ? error.message : 'unreadable' };
  }
  const parsed = lineSchema.safeParse(line);
  if (!parsed.success) return { problem: parsed.error.issues[0]?.message ?? 'not a state' };
  const { resource, state } = parsed.data;
  // Checked as what a handler sets.
  const run = runStateOf(resource, []);
  try {
    for (const [name, value] of Object.entries(state)) run.state.set(name, value);
  } catch (error) {
    return { problem: messageOf(error) };
  }
  return { resource, values: run.end() };
}
