/**
 * What does something to a terminal or a page, or cannot be seen there, one of each kind: control characters, what turns the
 * direction of text, line separators, what has no width, tags. Apart from the pattern that is tested.
 */
export const HOSTILE =
  '\0\u0007\u0008\u001b\u007f\u0080\u009b\u009f\u00ad\u034f\u061c\u115f\u180b\u180e\u200b\u200f\u2028\u2029\u202a\u202e' +
  '\u2060\u2066\u206f\u3164\ufe00\ufe0f\ufeff\uffa0\ufff9\ufffb\u{e0001}\u{e0041}\u{e01ef}';

/** A title that stands on a terminal in colour, turned around, and in front of another line. */
export const SPOOF = `\u001b[31m\u009b2J\u202e${HOSTILE}\u2028`;

/** The hostile characters in what was printed, as hexadecimal. */
export function hostileIn(text: string): string[] {
  const found = [...text].filter((one) => HOSTILE.includes(one) || !one.isWellFormed());
  return [...new Set(found)].map((one) => one.codePointAt(0)?.toString(16) ?? '');
}
