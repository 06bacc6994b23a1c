import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import type { CodePlace } from './code-frame.ts';
import { cutOut } from './cut.ts';

/** The longest text of an error that is stored, in characters: enough for its causes, little enough for millions of attempts. */
export const LONGEST_TEXT = 4000;
/** A message that stands alone gets this much of it, and one of several errors this much. */
const LONGEST_MESSAGE = 3000;
const LONGEST_OF_SEVERAL = 800;
const LONGEST_LINE = 300;
/** The rest of a longer stack is ignored: the handler raised Error.stackTraceLimit. */
const LONGEST_STACK = 20_000;
/** How many errors are told of one: itself, its causes, and the errors of an AggregateError. */
const MOST_ERRORS = 20;
const MOST_OF_AGGREGATE = 5;
/** How many stack lines an error gets; the fewer, the more room there is for its causes. */
const STACK_LINES = [10, 3, 1, 0] as const;

/** An error as it was when it was read. Each of its members was read once, as reading may throw or lie. */
interface Told {
  /** how it hangs together with the error before it */
  readonly label: string;
  readonly depth: number;
  readonly header: string;
  readonly stack: readonly string[];
}

/**
 * Any thrown value as a text of at most 4,000 characters: name, code and message, stack lines, then the same for its
 * causes and for the errors of an AggregateError. The first stack line in a file of the user's own goes first, and those
 * inside of Node are left out. It never throws, also if getters and proxies do.
 */
export function textOf(thrown: unknown): string {
  const errors = errorsOf(thrown);
  for (const lines of STACK_LINES) {
    const text = errors.map((error) => render(error, lines)).join('\n');
    if (text.length <= LONGEST_TEXT) return text;
  }
  return cutOut(errors.map((error) => render(error, 0)).join('\n'), LONGEST_TEXT);
}

/**
 * Where a thrown value comes from: the first place in a file of the user's own, of the error itself or else of its causes, in
 * the order of `textOf`; undefined if there is none.
 */
export function placeOf(thrown: unknown): CodePlace | undefined {
  const own = errorsOf(thrown)
    .map(({ stack: [first] }) => first)
    .find((line) => line && isInUsersFiles(line));
  return own === undefined ? undefined : placeIn(own);
}

/** What a thrown value and its causes say: `textOf` without stack lines. */
export function messagesOf(thrown: unknown): string {
  const lines = errorsOf(thrown).map((error) => render(error, 0));
  return cutOut(lines.join('\n'), LONGEST_TEXT);
}

/** An error with all of its stack, as Node shows it: for mistakes in files that are loaded. Any other value as `textOf` has it. */
export function stackTextOf(thrown: unknown): string {
  const stack = Error.isError(thrown) ? read(thrown, 'stack') : undefined;
  return typeof stack === 'string' && stack !== '' ? stack : textOf(thrown);
}

/** The text of an error in one line: how it begins, and how each of its causes does. */
export function headlineOf(text: string): string {
  const [first = '', ...rest] = text.split('\n');
  return [first, ...rest.filter((line) => OF_ANOTHER.test(line)).map((line) => line.trim())].join(' ');
}

/** Any value for people, in one line, errors by name and message. No toString and no inspect of its own runs. */
export function shown(value: unknown, longest = 200): string {
  try {
    const text = Error.isError(value) ? `[${headerOf(value, messageOf(value))}]` : inspected(value, longest);
    return cutOut(text, longest).replace(/\s*\n\s*/g, ' ');
  } catch {
    return `a value that cannot be shown (${typeof value})`; // even a name can be a getter that throws
  }
}

function inspected(value: unknown, longest: number): string {
  return inspect(value, {
    depth: 2,
    customInspect: false,
    getters: false,
    showProxy: true,
    maxArrayLength: 20,
    maxStringLength: longest,
    breakLength: Number.POSITIVE_INFINITY,
    compact: true,
  });
}

/** Whether a stack has a line in a file of the user's own: not of Node, of a package, or of this kit. */
export function isFromUsersFiles(thrown: unknown): boolean {
  return isObject(thrown) && stackOf(thrown, '').some(isInUsersFiles);
}

/** A thrown value, its causes, and the errors of an AggregateError. */
function errorsOf(thrown: unknown): Told[] {
  const errors: Told[] = [];
  tell(thrown, { label: '', depth: 0 }, errors, new Set());
  return errors;
}

type Place = Pick<Told, 'label' | 'depth'>;

function tell(thrown: unknown, place: Place, errors: Told[], seen: Set<unknown>): void {
  if (errors.length >= MOST_ERRORS) return;
  const isSeen = seen.has(thrown);
  if (!isObject(thrown) || !isErrorLike(thrown) || isSeen) {
    errors.push({ ...place, header: isSeen ? 'the same error again' : plain(thrown), stack: [] });
    return;
  }
  seen.add(thrown);
  const text = messageOf(thrown);
  const cause = read(thrown, 'cause');
  const parts = partsOf(thrown);
  const isAlone = place.depth === 0 && cause === undefined && parts.length === 0;
  const longest = isAlone ? LONGEST_MESSAGE : LONGEST_OF_SEVERAL;
  errors.push({ ...place, header: headerOf(thrown, cutOut(text, longest)), stack: stackOf(thrown, text) });
  for (const [index, part] of parts.entries()) {
    tell(part, { label: `error ${index + 1}: `, depth: place.depth + 1 }, errors, seen);
  }
  if (cause !== undefined) tell(cause, { label: 'caused by: ', depth: place.depth + 1 }, errors, seen);
}

function render({ label, depth, header, stack }: Told, lines: number): string {
  const indent = '  '.repeat(Math.max(0, depth - 1));
  return [`${indent}${label}${header}`, ...stack.slice(0, lines)].join('\n');
}

function headerOf(error: object, message: string): string {
  const code = read(error, 'code');
  // That of a DOMException says the same as its name, as a number.
  const hasCode = typeof code === 'string' || (typeof code === 'number' && !isDomException(error));
  const name = nameOf(error) + (hasCode ? ` [${oneLine(String(code))}]` : '');
  return message === '' ? name : `${name}: ${message}`;
}

function isDomException(error: object): boolean {
  try {
    return error instanceof DOMException;
  } catch {
    return false; // a proxy that tells no prototype
  }
}

function messageOf(error: object): string {
  const message = read(error, 'message');
  return typeof message === 'string' ? message : '';
}

/** Custom error classes seldom set `name`. */
function nameOf(error: object): string {
  const name = read(error, 'name');
  if (typeof name === 'string' && name !== '' && name !== 'Error') return oneLine(name);
  const made = read(error, 'constructor');
  const own = typeof made === 'function' ? read(made, 'name') : undefined;
  return typeof own === 'string' && own !== '' && own !== 'Object' ? oneLine(own) : 'Error';
}

function partsOf(error: object): unknown[] {
  const parts = read(error, 'errors');
  if (!isObject(parts)) return [];
  const length = read(parts, 'length');
  const count = typeof length === 'number' ? Math.max(0, Math.min(length, MOST_OF_AGGREGATE)) : 0;
  return Array.from({ length: count }, (_, index) => read(parts, String(index)));
}

/** The beginning of a line for a cause, or for one of several errors. */
const OF_ANOTHER = /^ *(caused by|error \d+): /;
const STACK_LINE = /^\s*at \S/;
const INSIDE_NODE = /(?:\(|\bat (?:async )?)node:/;
const LOCATION = /:\d+:\d+\)?$/;

/** @param message of the error, which its stack repeats */
function stackOf(error: object, message: string): string[] {
  const stack = read(error, 'stack');
  if (typeof stack !== 'string') return [];
  const after = Math.max(0, message === '' ? 0 : stack.indexOf(message) + message.length);
  const lines = stack
    .slice(after, after + LONGEST_STACK)
    .split('\n')
    .filter((line) => STACK_LINE.test(line) && !INSIDE_NODE.test(line))
    .map((line) => cutOut(line, LONGEST_LINE));
  const own = lines.findIndex(isInUsersFiles);
  return own === -1 ? lines : [...lines.splice(own, 1), ...lines];
}

const ROOT = new URL('../../', import.meta.url);
/** As stacks name them: by URL, or by path where a loader says so. */
const ROOTS = [ROOT.href, decodeURIComponent(ROOT.pathname)];

function isInUsersFiles(line: string): boolean {
  if (!LOCATION.test(line) || line.includes('/node_modules/')) return false;
  const ours = ROOTS.flatMap((root) => [`${root}src/`, `${root}dist/`, `${root}bin/`]);
  const handlers = ROOTS.map((root) => `${root}src/handlers/`);
  return handlers.some((path) => line.includes(path)) || !ours.some((path) => line.includes(path));
}

const PLACE = /(file:\/\/\/\S+|\/[^()]*):(\d+):(\d+)\)?$/;

function placeIn(stackLine: string): CodePlace | undefined {
  const [, file = '', line, column] = PLACE.exec(stackLine) ?? [];
  if (file === '') return undefined;
  try {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file;
    return { file: path, line: Number(line), column: Number(column) };
  } catch {
    return undefined; // an address of a file that none can have
  }
}

/** One of this realm or another, or an object that looks like one. */
function isErrorLike(value: object): boolean {
  return Error.isError(value) || typeof read(value, 'message') === 'string';
}

/** A thrown value that is no error: a text unchanged, any other value as Node shows it. */
function plain(thrown: unknown): string {
  return typeof thrown === 'string' ? cutOut(thrown, LONGEST_MESSAGE) : shown(thrown, LONGEST_OF_SEVERAL);
}

function oneLine(text: string): string {
  return cutOut(text, 100).replaceAll('\n', ' ');
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function read(value: object, member: string): unknown {
  try {
    return Reflect.get(value, member);
  } catch {
    return undefined; // a getter that throws: there is no such member then
  }
}
