/**
 * Characters that a terminal or a browser obeys or hides instead of showing them: control characters including C1,
 * characters that turn the direction of a text, line separators, characters without width, halves of surrogate pairs, and
 * what is no character. XML allows no others.
 */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu;
const UNSEEN_WITHIN_LINES = new RegExp(`[${UNSEEN.source}--\\n]`, 'gv');

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * A text with such characters as escapes, but for its line ends. The escapes are those of JSON, in which such characters
 * stand within strings only, so JSON stays JSON and means the same. Strangers' texts within a text of ours go through
 * `visibleLine`.
 */
export function visible(text: string): string {
  return text.replace(UNSEEN_WITHIN_LINES, escaped);
}

/** A text of others as one line: line ends are escapes too. */
export function visibleLine(text: string): string {
  return text.replace(UNSEEN, escaped);
}

/** By UTF-16 units, as JSON has it: a character beyond the first plane is two escapes. */
function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return SHORT[character] ?? units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/**
 * The beginning of a text that a stranger wrote, as a string of its own: a slice in V8 keeps the whole text in memory for
 * as long as the part. Half a surrogate pair becomes U+FFFD.
 * @param longest in UTF-16 code units
 */
export function cut(text: string, longest: number): string {
  return Buffer.from(text.slice(0, longest)).toString();
}

/** A count for people, such as `2,000`. */
export function number(count: number): string {
  return Math.round(count).toLocaleString('en');
}

/** A count with its noun: `1 event`, `2 events`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
