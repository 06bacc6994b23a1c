import { isUtf8 } from 'node:buffer';
import { cut } from '../base/cut.ts';

/** As they are before any handler loads: what one puts in their place must not decide which notifications are the same. */
const { parse: parseText, stringify } = JSON;

/** A JSON object as JSON.parse returns it. */
export type JsonObject = { readonly [member: string]: unknown };

/** The facts about a JSON object that are known without making a value of it. */
export interface Outline {
  /** members of all objects in it, repeated ones included */
  readonly members: number;
  /** commas and brackets: the cost of a value grows with these more than with its length */
  readonly pieces: number;
  /** numerals for which only arithmetic tells whether a double holds them: where each begins and ends */
  readonly hardNumerals: readonly number[];
  /** the members of these names of the object itself: the beginning of each text, 200 characters or more of it */
  readonly event: string;
  readonly webhookId: string;
}

/** Character codes of JSON. */
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const SMALL_A = 0x61;
const SMALL_E = 0x65;
const SMALL_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** Set in the code of a small letter. */
const SMALL = 0x20;

const codesOf = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const TRUE = codesOf('true');
const FALSE = codesOf('false');
const NULL = codesOf('null');
const EVENT = codesOf('event');
const WEBHOOK_ID = codesOf('webhook_id');
/** The characters that may follow a backslash, other than `u`. */
const ESCAPED = new Uint8Array(256);
for (const code of codesOf('"\\/bfnrt')) ESCAPED[code] = 1;
ESCAPED[SMALL_U] = 2;
/** Characters that are not plain in a text: a quote, a backslash, a control character. */
const ENDING = Uint8Array.from({ length: 256 }, (_, code) =>
  code < SPACE || code === QUOTE || code === BACKSLASH ? 1 : 0,
);
/** Hexadecimal digits. */
const HEX = new Uint8Array(256);
for (const code of codesOf('0123456789abcdefABCDEF')) HEX[code] = 1;

/** Deeper nesting than this is refused: code that walks a body recursively must not run out of stack. */
export const MAX_DEPTH = 64;

/** Every decimal number of up to 15 digits is the shortest form of its double, and no double's has more than 17. */
const SURELY_EXACT = 15;
const NEVER_EXACT = 18;
/** From here on exponents come near to where doubles end, which is at 308, with room for 15 digits beside the point. */
const FAR_EXPONENT = 290;
/** Larger than any text is long, so that no zeros make up for it. */
const ENDLESS_EXPONENT = 1e9;

/** A character takes up to six bytes where it is escaped, and three where it is not. */
const SEEN_OF_TEXT = 600;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads bytes as one JSON object whose value is unmistakable (I-JSON, RFC 7493): UTF-8 without a byte order mark, no
 * member twice in an object, no number that a double cannot hold. Two readers of such a text cannot disagree, so every later
 * reader of the verified text gets the same value.
 * @returns the text and its value
 * @throws SyntaxError with the problem, never with a part of the text
 */
export function parseJsonObject(bytes: Uint8Array): { text: string; value: JsonObject } {
  const text = decode(bytes);
  return { text, value: parseOutlined(text, bytes, outlineOf(bytes)) };
}

/**
 * The same for a text that is already decoded.
 * @param deepest how deeply values may be nested in it: only what strangers send has to be flat
 */
export function parseJsonText(text: string, deepest = MAX_DEPTH): JsonObject {
  const bytes = Buffer.from(text);
  return parseOutlined(text, bytes, outlineOf(bytes, deepest));
}

/**
 * The text of bytes that are UTF-8.
 * @throws SyntaxError if they are not
 */
export function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new SyntaxError('not valid UTF-8', { cause });
  }
}

/**
 * The value of a text whose outline is known: what `parseJsonObject` checks beyond the outline is checked here.
 * @throws SyntaxError if a member stands there twice, or a double cannot hold a number
 */
export function parseOutlined(text: string, bytes: Uint8Array, outline: Outline): JsonObject {
  const value = parse(text);
  if (outline.members !== countMembers(value))
    throw new SyntaxError('ambiguous: a member appears twice in one object');
  for (let index = 0; index < outline.hardNumerals.length; index += 2) {
    const numeral = bytes.subarray(outline.hardNumerals[index], outline.hardNumerals[index + 1]);
    if (!isExact(decode(numeral))) throw beyondPrecision();
  }
  return value;
}

function parse(text: string): JsonObject {
  try {
    return parseText(text);
  } catch {
    throw invalid(); // the cause would quote the text
  }
}

const invalid = () => new SyntaxError('not valid JSON');
const beyondPrecision = () => new SyntaxError('inexact: a number is beyond double precision');

/**
 * Goes through any bytes once and makes no values: for 64 KiB it takes less than a millisecond, where JSON.parse takes up to
 * five. Nothing else is done with a large body before its signature is known to be right.
 * @throws SyntaxError if they are not one JSON object in UTF-8, nest too deep, or have a numeral too long for any double
 */
export function outlineOf(bytes: Uint8Array, deepest = MAX_DEPTH): Outline {
  if (!isUtf8(bytes)) throw new SyntaxError('not valid UTF-8');
  const found = scan(bytes, deepest);
  if (bytes[skipSpaces(bytes, 0)] !== OPEN_BRACE) throw new SyntaxError('not a JSON object');
  if (found.hasEndlessNumeral) throw beyondPrecision();
  const { members, pieces, hardNumerals, eventAt, webhookIdAt } = found;
  const [event, webhookId] = [textAt(bytes, eventAt), textAt(bytes, webhookIdAt)];
  return { members, pieces, hardNumerals, event, webhookId };
}

interface Scan {
  members: number;
  pieces: number;
  hasEndlessNumeral: boolean;
  readonly hardNumerals: number[];
  /** where the values of these members begin */
  eventAt: number;
  webhookIdAt: number;
}

/** The things that may come next in a JSON text, apart from spaces. */
const VALUE = 0;
const VALUE_OR_END = 1;
const NAME = 2;
const NAME_OR_END = 3;
const COMMA_OR_END = 4;

/** The role of a byte at its place. */
const INVALID = 0;
const BETWEEN = 1;
const SEPARATOR = 2;
const NUMERAL = 3;
const TEXT = 4;
const MEMBER = 5;
const OPENING = 6;
const CLOSING = 7;
const LITERAL = 8;

/** The role of each byte after each thing: one look-up instead of a dozen comparisons for every byte of a body. */
const MEANINGS = new Uint8Array((COMMA_OR_END + 1) << 8);
for (const next of [VALUE, VALUE_OR_END, NAME, NAME_OR_END, COMMA_OR_END]) {
  const means = (characters: string, meaning: number) => {
    for (const code of codesOf(characters)) MEANINGS[(next << 8) | code] = meaning;
  };
  means(' \t\r\n', BETWEEN);
  if (next === VALUE || next === VALUE_OR_END) {
    means('-0123456789', NUMERAL);
    means('"', TEXT);
    means('[{', OPENING);
    means('tfn', LITERAL);
  }
  if (next === NAME || next === NAME_OR_END) means('"', MEMBER);
  if (next === VALUE_OR_END) means(']', CLOSING);
  if (next === NAME_OR_END) means('}', CLOSING);
  if (next === COMMA_OR_END) {
    means(',', SEPARATOR);
    means(']}', CLOSING);
  }
}

/** Bytes that four at a time are worth looking at: fewer are gone through sooner one by one. */
const LONG_TEXT = 32;

// One loop over the bytes with next to no calls, as strangers can make every second byte begin something else.
function scan(bytes: Uint8Array, deepest: number): Scan {
  const { length } = bytes;
  const found: Scan = {
    members: 0,
    pieces: 0,
    hasEndlessNumeral: false,
    hardNumerals: [],
    eventAt: length,
    webhookIdAt: length,
  };
  const words = wordsOf(bytes);
  /** the closing byte of each open bracket */
  const closing = new Uint8Array(deepest + 1);
  let close = 0;
  let depth = 0;
  let pieces = 0;
  let members = 0;
  let next = VALUE;
  let at = 0;
  while (at < length) {
    const code = bytes[at] ?? 0;
    const meaning = MEANINGS[(next << 8) | code] ?? INVALID;
    if (meaning === BETWEEN) {
      at++;
    } else if (meaning === SEPARATOR) {
      if (depth === 0) throw invalid();
      next = close === CLOSE_BRACE ? NAME : VALUE;
      pieces++;
      at++;
    } else if (meaning === NUMERAL) {
      next = COMMA_OR_END;
      // Most numbers are whole and have few digits; these need no more than this.
      let end = at + 1;
      while (end < length && isDigit(bytes[end] ?? 0)) end++;
      const isPlain = code !== MINUS && (code !== ZERO || end === at + 1) && end - at <= SURELY_EXACT;
      if (isPlain && (end === length || !goesOn(bytes[end] ?? 0))) at = end;
      else at = endOfNumeral(bytes, at, found);
    } else if (meaning === TEXT) {
      next = COMMA_OR_END;
      at = endOfString(bytes, at, words);
    } else if (meaning === MEMBER) {
      const end = endOfString(bytes, at, words);
      const value = bytes[end] === COLON ? end + 1 : valueAfter(bytes, end);
      members++;
      if (depth === 1) {
        // Of a repeated name the last value counts, as in JSON.parse.
        if (isName(bytes, at, end, EVENT)) found.eventAt = skipSpaces(bytes, value);
        else if (isName(bytes, at, end, WEBHOOK_ID)) found.webhookIdAt = skipSpaces(bytes, value);
      }
      next = VALUE;
      at = value;
    } else if (meaning === CLOSING) {
      if (code !== close) throw invalid();
      if (next === COMMA_OR_END) pieces++;
      close = closing[--depth] ?? 0;
      next = COMMA_OR_END;
      at++;
    } else if (meaning === OPENING) {
      if (++depth > deepest) throw new SyntaxError(`nested deeper than ${deepest} levels`);
      close = code === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
      closing[depth] = close;
      next = code === OPEN_BRACE ? NAME_OR_END : VALUE_OR_END;
      at++;
    } else if (meaning === LITERAL) {
      next = COMMA_OR_END;
      at = endOfLiteral(bytes, at);
    } else {
      throw invalid();
    }
  }
  if (depth > 0 || next !== COMMA_OR_END) throw invalid();
  found.pieces = pieces;
  found.members = members;
  return found;
}

/** The same memory four bytes at a time; its first bytes are the ones at `first`. */
interface Words {
  readonly four: Int32Array;
  /** how many bytes stand before them */
  readonly first: number;
}

function wordsOf({ buffer, byteOffset, length }: Uint8Array): Words {
  const first = -byteOffset & 3;
  return { four: new Int32Array(buffer, byteOffset + first, Math.max(0, (length - first) >> 2)), first };
}

/** Whether this makes more than a whole number of the digits before it. */
const goesOn = (code: number) => code === POINT || (code | SMALL) === SMALL_E;

const isSpace = (code: number) =>
  code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB;

function skipSpaces(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && isSpace(bytes[at] ?? 0)) at++;
  return at;
}

/** Where a value may begin, as its name has ended here. */
function valueAfter(bytes: Uint8Array, name: number): number {
  const colon = skipSpaces(bytes, name);
  if (bytes[colon] !== COLON) throw invalid();
  return colon + 1;
}

/** Whether the string from one quote to behind the other is this name, with or without escapes. */
function isName(bytes: Uint8Array, from: number, end: number, name: Uint8Array): boolean {
  let at = from + 1;
  for (const code of name) {
    if (bytes[at] === code) at++;
    else if (bytes[at] === BACKSLASH && bytes[at + 1] === SMALL_U && hexAt(bytes, at + 2) === code) at += 6;
    else return false;
  }
  return at === end - 1;
}

/** The character that four hexadecimal digits name. */
function hexAt(bytes: Uint8Array, from: number): number {
  let value = 0;
  for (let at = from; at < from + 4; at++) {
    const code = bytes[at] ?? 0;
    value = value * 16 + (isDigit(code) ? code - ZERO : (code | SMALL) - SMALL_A + 10);
  }
  return value;
}

/** The beginning of a text; empty where no text stands. */
function textAt(bytes: Uint8Array, from: number): string {
  if (bytes[from] !== QUOTE) return '';
  let at = from + 1;
  for (let seen = 0; seen < SEEN_OF_TEXT && at < bytes.length && bytes[at] !== QUOTE; seen++) {
    at += bytes[at] !== BACKSLASH ? 1 : bytes[at + 1] === SMALL_U ? 6 : 2;
  }
  const text: unknown = parseText(`"${Buffer.from(bytes.subarray(from + 1, at)).toString()}"`);
  return String(text);
}

function endOfLiteral(bytes: Uint8Array, from: number): number {
  const literal = bytes[from] === TRUE[0] ? TRUE : bytes[from] === FALSE[0] ? FALSE : NULL;
  for (let index = 0; index < literal.length; index++) {
    if (bytes[from + index] !== literal[index]) throw invalid();
  }
  return from + literal.length;
}

function endOfString(bytes: Uint8Array, from: number, words: Words): number {
  const { length } = bytes;
  let at = from + 1;
  /** where so many plain bytes have passed that looking at four at once may be worth it */
  let long = at + LONG_TEXT;
  while (at < length) {
    const code = bytes[at] ?? 0;
    const ends = ENDING[code];
    if (ends === 0) {
      at++;
      if (at < long || ((at - words.first) & 3) !== 0) continue;
      at = plainUpTo(words, at);
      long = at + LONG_TEXT;
    } else if (code === QUOTE) {
      return at + 1;
    } else if (code !== BACKSLASH) {
      throw invalid();
    } else {
      const escaped = ESCAPED[at + 1 < length ? (bytes[at + 1] ?? 0) : 0];
      if (escaped === 1) at += 2;
      else if (escaped === 2 && isHex(bytes, at + 2)) at += 6;
      else throw invalid();
      long = at + LONG_TEXT;
    }
  }
  throw invalid();
}

/**
 * How far nothing but plain characters of a text stands, or up to three bytes less: for long texts in a third of the time.
 * It begins where four bytes do.
 */
function plainUpTo({ four, first }: Words, from: number): number {
  let index = (from - first) >> 2;
  for (; index < four.length; index++) {
    const word = four[index] ?? 0;
    const quote = word ^ 0x22222222;
    const backslash = word ^ 0x5c5c5c5c;
    // The highest bit of a byte is set here where it was 0 before, or below a space. (Hacker's Delight, 6-1)
    const found =
      ((quote - 0x01010101) & ~quote) |
      ((backslash - 0x01010101) & ~backslash) |
      ((word - 0x20202020) & ~word);
    if ((found & 0x80808080) !== 0) break;
  }
  return first + index * 4;
}

function isHex(bytes: Uint8Array, from: number): boolean {
  if (from + 4 > bytes.length) return false;
  const [one, two] = [HEX[bytes[from] ?? 0] ?? 0, HEX[bytes[from + 1] ?? 0] ?? 0];
  const [three, four] = [HEX[bytes[from + 2] ?? 0] ?? 0, HEX[bytes[from + 3] ?? 0] ?? 0];
  return (one & two & three & four) === 1;
}

const isDigit = (code: number) => code >= ZERO && code <= NINE;

/** Where a number ends. With few digits a double is always exact, with many never; the others are noted for later. */
function endOfNumeral(bytes: Uint8Array, from: number, found: Scan): number {
  const { length } = bytes;
  let at = bytes[from] === MINUS ? from + 1 : from;
  const start = at;
  /** where the first and the last digit stand that are not zero */
  let first = -1;
  let last = -1;
  for (; at < length; at++) {
    const code = bytes[at] ?? 0;
    if (!isDigit(code)) break;
    if (code === ZERO) continue;
    if (first < 0) first = at;
    last = at;
  }
  const point = at;
  if (point === start || (bytes[start] === ZERO && point > start + 1)) throw invalid();
  if (at < length && bytes[at] === POINT) {
    at++;
    for (; at < length; at++) {
      const code = bytes[at] ?? 0;
      if (!isDigit(code)) break;
      if (code === ZERO) continue;
      if (first < 0) first = at;
      last = at;
    }
    if (at === point + 1) throw invalid();
  }
  const isShort = at - start <= SURELY_EXACT;
  let exponent = 0;
  if (at < length && ((bytes[at] ?? 0) | SMALL) === SMALL_E) {
    at++;
    const sign = at < length ? bytes[at] : 0;
    if (sign === MINUS || sign === PLUS) at++;
    const digits = at;
    for (; at < length; at++) {
      const code = bytes[at] ?? 0;
      if (!isDigit(code)) break;
      if (exponent < ENDLESS_EXPONENT) exponent = exponent * 10 + code - ZERO;
    }
    if (at === digits) throw invalid();
    if (sign === MINUS) exponent = -exponent;
  }
  const isNear = (number: number) => number < FAR_EXPONENT && number > -FAR_EXPONENT;
  if (first < 0 || (isShort && isNear(exponent))) return at;
  const significant = last - first + (first < point && last > point ? 0 : 1);
  if (significant >= NEVER_EXACT) found.hasEndlessNumeral = true;
  else if (significant > SURELY_EXACT || !isNear(exponent + point - first)) found.hardNumerals.push(from, at);
  return at;
}

/** Whether a numeral and the double it becomes are the same decimal number. */
function isExact(numeral: string): boolean {
  return decimal(numeral) === decimal(String(Number(numeral)));
}

/** Significant digits and exponent, so that `1.50e3` and `1500` come out alike. */
function decimal(numeral: string): string {
  const [mantissa = '', exponent = '0'] = numeral.toLowerCase().split('e');
  let digits = 0;
  let whole = -1;
  let first = -1;
  let last = -1;
  let index = -1;
  for (let at = 0; at < mantissa.length; at++) {
    const code = mantissa.charCodeAt(at);
    if (code === POINT) whole = digits;
    if (!isDigit(code)) continue;
    if (code !== ZERO) {
      if (first < 0) first = at;
      last = at;
      index = digits;
    }
    digits++;
  }
  if (first < 0) return '0';
  const significant = mantissa.slice(first, last + 1).replace('.', '');
  return `${significant}e${Number(exponent) + (whole < 0 ? digits : whole) - index}`;
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + countMembers(one), 0);
  const names = Object.keys(value);
  return names.reduce((sum, name) => sum + countMembers((value as JsonObject)[name]), names.length);
}

/**
 * Where two JSON values first differ, as a JSON Pointer (RFC 6901; the empty string is the whole); undefined where they are
 * equal. The order of members does not count; every member, type and number does.
 */
export function firstDifference(left: unknown, right: unknown): string | undefined {
  if (left === right) return undefined;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return '';
  if (Array.isArray(left) !== Array.isArray(right)) return '';
  const names = Object.keys(left);
  for (const name of names) {
    if (!Object.hasOwn(right, name)) return pointerTo(name);
    const inner = firstDifference((left as JsonObject)[name], (right as JsonObject)[name]);
    if (inner !== undefined) return `${pointerTo(name)}${inner}`;
  }
  const others = Object.keys(right);
  if (others.length === names.length) return undefined;
  const other = others.find((name) => !Object.hasOwn(left, name));
  return other === undefined ? undefined : pointerTo(other);
}

/** A name may be as long as a body, and is worth a line of a log at most. */
const LONGEST_NAME = 200;

function pointerTo(name: string): string {
  return `/${cut(name, LONGEST_NAME).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The canonical text of a JSON value (RFC 8785): members sorted by UTF-16 code units, no spaces. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.keys(value)
    .sort()
    .map((name) => `${stringify(name)}:${canonicalJson((value as JsonObject)[name])}`);
  return `{${members.join(',')}}`;
}
