/**
 * The beginning of a text that a stranger wrote, as a string of its own: what V8 makes of `slice` keeps the whole text in
 * memory for as long as the part, and half a surrogate pair at the cut is no character.
 * @param longest in UTF-16 code units
 */
export function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return Buffer.from(text.slice(0, longest)).toString();
}

/** The same where the text is itself a part of a longer one, or may have half a surrogate pair within, however short it is. */
export function cutOut(text: string, longest: number): string {
  return Buffer.from(text.slice(0, longest)).toString();
}
