import type { Response } from 'express';
import { linkHeader } from './link-header.ts';
import { page, readListQuery } from './list-page.ts';
import type { Parameters } from './nested-parameters.ts';
import { scalar } from './scalars.ts';

/** A list and how a caller asks for a page of it. */
interface Listing<T> {
  /** Id descending. */
  readonly records: readonly T[];
  readonly parameters: Parameters;
  /** Absolute address of the list, without a query. */
  readonly url: string;
}

/** The page that is asked for; the way to the pages beside it goes into the answer's Link header. */
export function answerPage<T extends { readonly id: number }>(listing: Listing<T>, response: Response): T[] {
  const { records, parameters, url } = listing;
  const query = readListQuery(parameters);
  const found = page(records, query);
  const ids = found.map(({ id }) => id);
  const link = linkHeader({ url, ids, limit: query.limit, sentLimit: scalar(parameters.limit) });
  if (link !== undefined) response.set('Link', link);
  return found;
}
