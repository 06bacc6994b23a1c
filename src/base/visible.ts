/**
 * Characters that a terminal or a browser obeys or hides instead of showing them: control characters including C1,
 * characters that turn the direction of a text, line separators, characters without width, and halves of surrogate pairs.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
/** As a class of its own: to look ahead at each character takes twice as long, and all of a log and a recording goes through it. */
const UNSEEN_WITHIN_LINES = new RegExp(`[${UNSEEN.source}--\\n]`, 'gv');

/** Stands at the end of a text that was cut. */
const CUT = ' ...';

/** Each character's escape, once it was asked for: making it again takes four times as long, and strangers can send many. */
const escapes = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

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

/** The same, cut between two characters so that it is no longer than this when it is visible: one NUL is six characters then. */
export function visibleBeginning(text: string, longest: number): string {
  const shown: string[] = [];
  let length = 0;
  for (const character of text) {
    const one = visibleLine(character);
    shown.push(one);
    length += one.length;
    if (length <= longest) continue;
    while (length > longest - CUT.length) length -= shown.pop()?.length ?? length;
    return shown.join('') + CUT;
  }
  return shown.join('');
}

/** For pino: strangers choose some text of a log line, and operators read it on a terminal. */
export const visibleLog = { hooks: { streamWrite: (line: string) => visible(parsable(line)) } };

/** What pino writes of a message that is no JSON, as a symbol. */
const NO_MESSAGE = '"msg":undefined}\n';

/** A line of the log, which is a JSON object whatever was logged. */
export function parsable(line: string): string {
  return line.endsWith(NO_MESSAGE) ? `${line.slice(0, -NO_MESSAGE.length)}"msg":"undefined"}\n` : line;
}

/** By UTF-16 units, as JSON has it: a character beyond the first plane is two escapes. */
function escaped(character: string): string {
  const known = escapes.get(character);
  if (known !== undefined) return known;
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const made = units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  escapes.set(character, made);
  return made;
}
