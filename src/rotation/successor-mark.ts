/**
 * The mark of a webhook that replaces another one, at the end of its description. By the mark, any later run finds a
 * rotation that ended early. The end of the rotation removes it.
 */
const MARK = /\s*\[hookkit: replaces ([\w-]+)\]\s*$/;

/** A description with the mark of the webhook that is replaced, instead of the mark that it has. */
export function withMark(description: string, replaced: string): string {
  return `${withoutMark(description)} [hookkit: replaces ${replaced}]`.trimStart();
}

/** The description as its owner wrote it. */
export function withoutMark(description: string): string {
  return description.replace(MARK, '');
}

/** The webhook that one with this description is being made to replace. */
export function replacedBy(description: string): string | undefined {
  return MARK.exec(description)?.[1];
}

/** A new description with the mark of the old one; the old one where there is none. */
export function keepingMark(old: string, description = withoutMark(old)): string {
  const replaced = replacedBy(old);
  return replaced === undefined ? description : withMark(description, replaced);
}
