/** The cursors that lead to the pages beside one. */
export interface Cursors {
  /** `max_id` of the older page. */
  readonly next?: string;
  /** `min_id` of the newer page. */
  readonly prev?: string;
}

/**
 * Takes the cursors out of a Link header (RFC 8288). Only they are used, never the address: it may name another host, to
 * which the token must not go.
 */
export function cursorsOf(link: string): Cursors {
  const next = cursor(link, 'next', 'max_id');
  const prev = cursor(link, 'prev', 'min_id');
  return { ...(next !== undefined && { next }), ...(prev !== undefined && { prev }) };
}

function cursor(link: string, rel: string, name: string): string | undefined {
  for (const [, address = '', parameters = ''] of link.matchAll(/<([^>]*)>([^<]*)/g)) {
    if (!new RegExp(`;\\s*rel="?(?:[^"]*\\s)?${rel}(?:\\s[^"]*)?"?\\s*(?:[;,]|$)`, 'i').test(parameters))
      continue;
    return new URLSearchParams(address.split('?')[1]).get(name) ?? undefined;
  }
  return undefined;
}
