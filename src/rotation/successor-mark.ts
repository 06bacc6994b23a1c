/**
 * The mark of a webhook that replaces another one, at the end of its description. By the mark, any later run finds a
 * rotation that ended early. The end of the rotation removes it.
 */
export interface Marker {
  /** the id of the webhook that it replaces */
  readonly replaces: string;
  /** false while it must not receive anything yet */
  readonly whole: boolean;
}

const MARK = /\s*\[hookkit: (replaces|is to replace) ([\w-]+)\]\s*$/;

/** A description with this mark, instead of the mark that it has. */
export function withMarker(description: string, { replaces, whole }: Marker): string {
  const mark = `[hookkit: ${whole ? 'replaces' : 'is to replace'} ${replaces}]`;
  return [withoutMarker(description), mark].filter((part) => part !== '').join(' ');
}

/** The description as its owner wrote it. */
export function withoutMarker(description: string): string {
  return description.replace(MARK, '');
}

/** The mark that a description carries. */
export function markerOf(description: string): Marker | undefined {
  const [, verb, replaces] = MARK.exec(description) ?? [];
  return replaces === undefined ? undefined : { replaces, whole: verb === 'replaces' };
}

/** The webhook that one with this description is being made to replace. */
export function replacedBy(description: string): string | undefined {
  return markerOf(description)?.replaces;
}

/** A new description with the mark of the old one; the old one where there is none. */
export function keepingMarker(old: string, description = withoutMarker(old)): string {
  const marker = markerOf(old);
  return marker ? withMarker(description, marker) : description;
}
