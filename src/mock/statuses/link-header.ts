import type { Scalar } from './scalars.ts';

/** What a page tells of itself. */
interface Page {
  /** Absolute address of the list, without a query. */
  readonly url: string;
  readonly ids: readonly number[];
  /** How many records the page could have had. */
  readonly limit: number;
  /** The `limit` as it was sent, undefined where it was not: it is echoed as it came (but not at any length). */
  readonly sentLimit: Scalar | undefined;
}

/** The Link header of a page (RFC 8288): `next` only from a full one, `prev` from any but an empty one. */
export function linkHeader({ url, ids, limit, sentLimit }: Page): string | undefined {
  const [first, last] = [ids[0], ids.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const link = (cursor: string, id: number, rel: string) => {
    const query = new URLSearchParams(sentLimit === undefined ? {} : { limit: `${sentLimit}`.slice(0, 40) });
    query.set(cursor, String(id));
    return `<${url}?${query}>; rel="${rel}"`;
  };
  const prev = link('min_id', first, 'prev');
  return ids.length < limit ? prev : `${link('max_id', last, 'next')}, ${prev}`;
}
