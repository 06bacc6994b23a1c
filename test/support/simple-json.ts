import { type JsonObject, MAX_DEPTH } from '../../src/notification/json.ts';

// What src/notification/json.ts must take and refuse, said in the plainest way: JSON.parse first, then one look after the
// other at the text. It takes time that grows with the square of a numeral's length; only its verdict is of use.

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

/** What a text says, if it is one JSON object that cannot be read in two ways; otherwise what is wrong with it. */
export function simpleJsonText(text: string): JsonObject {
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
  if (members !== countMembers(value))
    throw new SyntaxError('ambiguous: a member appears twice in one object');
  if (hasNumbers && !numeralsOf(text).every(isExact)) {
    throw new SyntaxError('inexact: a number is beyond double precision');
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
