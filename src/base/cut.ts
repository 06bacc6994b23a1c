/**
 * The beginning of a text that a stranger wrote, as a string of its own: a slice in V8 keeps the whole text in memory for
 * as long as the part. Half a surrogate pair at the cut becomes U+FFFD.
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
