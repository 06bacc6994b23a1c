/**
 * What does something to a terminal or a page, or cannot be seen there: control characters, what turns the direction of
 * text, line separators, what has no width, tags. Written down one by one, apart from the pattern that is tested.
 */
const RANGES = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0xe0000, 0xe0fff],
] as const;

const isHostile = (codePoint: number) =>
  RANGES.some(([first, last]) => codePoint >= first && codePoint <= last);

/** Each of them, halves of surrogate pairs too. */
export function* everyHostile(): Generator<string> {
  for (const [first, last] of RANGES) {
    for (let codePoint: number = first; codePoint <= last; codePoint++) {
      if (codePoint !== 0x0a) yield String.fromCodePoint(codePoint);
    }
  }
}

/** One of each kind; Node cannot send half a surrogate pair as UTF-8, so none is in it. */
export const HOSTILE = RANGES.filter(([first]) => first !== 0xd800)
  .flat()
  .map((codePoint) => String.fromCodePoint(codePoint))
  .join('');

/** A title that stands on a terminal in colour, turned around, and in front of another line. */
export const SPOOF = `\u001b[31m\u009b2J\u202e${HOSTILE}\u2028`;

/** The hostile characters in what was printed, as hexadecimal; line ends are no such. */
export function hostileIn(text: string): string[] {
  const found = new Set<string>();
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0;
    if (codePoint !== 0x0a && isHostile(codePoint)) found.add(codePoint.toString(16));
  }
  return [...found];
}
