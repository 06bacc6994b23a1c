/** A JSON object as JSON.parse returns it. */
export type JsonObject = { readonly [member: string]: unknown };

/** Character codes of JSON's punctuation. */
const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const ZERO = 0x30;
const NINE = 0x39;

/** Deeper nesting than this is refused: what walks a body recursively must not run out of stack. */
export const MAX_DEPTH = 64;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads bytes as one JSON object whose value is unmistakable (I-JSON, RFC 7493): UTF-8 without a byte order mark, no
 * member twice in an object, no number that a double cannot hold. Two readers of such a text cannot disagree, so the
 * text that was verified says the same to whoever parses it later.
 * @returns the text and its value
 * @throws SyntaxError saying what is wrong, never quoting the text
 */
export function parseJsonObject(bytes: Uint8Array): { text: string; value: JsonObject } {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw new SyntaxError('not valid UTF-8', { cause });
  }
  return { text, value: parseJsonText(text) };
}

/** The same for a text that is already decoded. */
export function parseJsonText(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new SyntaxError('not valid JSON'); // the cause would quote the text
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SyntaxError('not a JSON object');
  }
  const { depth, members, hasNumbers } = skim(text);
  if (depth > MAX_DEPTH) throw new SyntaxError(`nested deeper than ${MAX_DEPTH} levels`);
  if (members !== countMembers(value)) throw new SyntaxError('a member appears twice in one object');
  if (hasNumbers && !numeralsOf(text).every(isExact)) {
    throw new SyntaxError('a number is beyond double precision');
  }
  return value as JsonObject;
}

/** What can be seen of a JSON text that its value does not show: in one pass, as every notification goes through it. */
function skim(text: string): { depth: number; members: number; hasNumbers: boolean } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let hasNumbers = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COLON) members++;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) deepest = Math.max(deepest, ++depth);
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    else if (code >= ZERO && code <= NINE) hasNumbers = true;
  }
  return { depth: deepest, members, hasNumbers };
}

/** Where the string ends that begins at `from`. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** The numbers in a JSON text, as they are written. */
function numeralsOf(text: string): string[] {
  const outsideStrings = text.replace(/\\./g, '').replace(/"[^"]*"/g, '""');
  return outsideStrings.match(/-?\d[\d.eE+-]*/g) ?? [];
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce<number>((sum, one) => sum + countMembers(one), Array.isArray(value) ? 0 : inner.length);
}

/** Whether a numeral and the double it becomes are the same decimal number. */
function isExact(numeral: string): boolean {
  return decimal(numeral) === decimal(String(Number(numeral)));
}

/** Significant digits and exponent, so that `1.50e3` and `1500` come out alike. */
function decimal(numeral: string): string {
  const [mantissa = '', exponent = '0'] = numeral.replace(/^-/, '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

/**
 * Where two JSON values first differ, as a JSON Pointer (RFC 6901; the empty string is the whole); undefined where they are
 * equal. The order of members does not count; every member, type and number does.
 */
export function firstDifference(left: unknown, right: unknown, path = ''): string | undefined {
  if (left === right) return undefined;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return path;
  if (Array.isArray(left) !== Array.isArray(right)) return path;
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  for (const name of names) {
    const here = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (!Object.hasOwn(left, name) || !Object.hasOwn(right, name)) return here;
    const inner = firstDifference((left as JsonObject)[name], (right as JsonObject)[name], here);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/** The canonical text of a JSON value (RFC 8785): members sorted by UTF-16 code units, no spaces. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson((value as JsonObject)[name])}`);
  return `{${members.join(',')}}`;
}
