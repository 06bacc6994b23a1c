import { inspect } from 'node:util';
import { cut } from './text.ts';

/** The longest text of an error that is stored, in characters: enough for its causes, little enough for millions of attempts. */
export const LONGEST_TEXT = 4000;
/** How many errors are told of one: itself, the errors of an AggregateError, and its causes. */
const MOST_ERRORS = 5;
/** A line of a stack with a place that is not inside of Node. */
const FRAME = /^\s*at (?!.*\bnode:).*:\d+:\d+\)?$/;

/**
 * Any thrown value as a text of at most 4,000 characters: name, code and message, some lines of its stack, then the same of the errors
 * of an AggregateError and of its causes, each of which gets an equal share. The first line ends with the message of the innermost cause,
 * which tells what is wrong where lists have one line. It never throws, also if getters and proxies do.
 */
export function textOf(thrown: unknown): string {
  try {
    const told = withCauses(thrown, '', []);
    const share = Math.floor(LONGEST_TEXT / told.length) - 1;
    const [first = '', ...rest] = told.map(([label, error]) => label + textOfOne(error));
    const texts = [endingWith(told.at(-1)?.[1], first), ...rest];
    return texts.map((text) => cut(text, share)).join('\n');
  } catch {
    return shown(thrown);
  }
}

/** The text of an error in one line. */
export const headlineOf = (text: string) => text.split('\n', 1).join();

/** Any value for people, in one line, errors by name and message. No toString and no inspect of its own runs. */
export function shown(value: unknown, longest = 200): string {
  const options = { customInspect: false, showProxy: true, maxStringLength: longest, breakLength: Infinity };
  try {
    const text = isError(value) ? `[${headerOf(value)}]` : inspect(value, options);
    return cut(text, longest).replace(/\s*\n\s*/g, ' ');
  } catch {
    return `a value that cannot be shown (${typeof value})`; // even a name can be a getter that throws
  }
}

/** Whether a stack has a line in a file of the user's own: not of Node, of a package, or of this kit. */
export function isFromUsersFiles(thrown: unknown): boolean {
  return framesOf(thrown).some(isInUsersFiles);
}

/** Also of another realm, and those of old libraries, which only inherit from Error. */
function isError(value: unknown): value is Error {
  return Error.isError(value) || value instanceof Error;
}

/** An error, and how it hangs together with the first one. */
type Told = readonly [label: string, error: unknown];

function withCauses(error: unknown, label: string, told: Told[]): Told[] {
  if (told.length === MOST_ERRORS || told.some(([, one]) => one === error)) return told;
  told.push([label, error]);
  if (!isError(error)) return told;
  const parts = 'errors' in error && Array.isArray(error.errors) ? error.errors.slice(0, MOST_ERRORS) : [];
  for (const [index, part] of parts.entries()) withCauses(part, `error ${index + 1}: `, told);
  return error.cause === undefined ? told : withCauses(error.cause, 'caused by: ', told);
}

/** The text of an error whose first line ends with the message of a cause, unless it has that already. */
function endingWith(cause: unknown, text: string): string {
  const line = headlineOf(text);
  const message = headlineOf(isError(cause) ? `${cause.message}` : textOfOne(cause));
  return line.includes(message) ? text : `${line}: ${message}${text.slice(line.length)}`;
}

function textOfOne(error: unknown): string {
  if (!isError(error)) return typeof error === 'string' ? error : shown(error, LONGEST_TEXT);
  return [headerOf(error), ...framesOf(error)].join('\n');
}

/** Custom error classes seldom set `name`. */
function headerOf(error: Error & { readonly code?: unknown }): string {
  const name = error.name === 'Error' ? error.constructor.name : error.name;
  const code = typeof error.code === 'string' ? ` [${error.code}]` : '';
  return `${name}${code}${error.message && ': '}${error.message}`;
}

/** The lines of a stack. One that leads through files of the user's ends with the last of them, and has no line of the kit's. */
function framesOf(thrown: unknown): string[] {
  const stack = isError(thrown) ? String(thrown.stack) : '';
  const frames = stack.split('\n').filter((line) => FRAME.test(line));
  const last = frames.findLastIndex(isInUsersFiles);
  return last < 0 ? frames : frames.slice(0, last + 1).filter((line) => !isInKit(line));
}

const ROOT = new URL('../../', import.meta.url);
/** As stacks name them: by URL, or by path where a loader says so. */
const ROOTS = [ROOT.href, decodeURIComponent(ROOT.pathname)].map(RegExp.escape);
const IN_KIT = new RegExp(`(${ROOTS.join('|')})(src/(?!handlers/)|dist/|bin/)`);

/** Whether a line of a stack is in a file of the kit. In a clone, src/handlers/ is the user's. */
export const isInKit = (line: string): boolean => IN_KIT.test(line);

/** Whether a line of a stack is in a file of the user's own. */
export function isInUsersFiles(line: string): boolean {
  return FRAME.test(line) && !isInKit(line) && !line.includes('/node_modules/');
}
