import type { Response } from 'express';
import type { Parameters } from './request-parameters.ts';
import { isBlank, leadingInteger, type Scalar, scalar } from './scalars.ts';

/** How many records a page has where the caller does not say. */
export const LIMIT_DEFAULT = 20;
/** How many records a page has at most. */
export const LIMIT_MAX = 40;

/** A list, and the parameters that ask for a page of it. */
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

/** Which page of a list a caller asks for. Ids are compared as whole numbers of any length. */
interface ListQuery {
  readonly limit: number;
  readonly maxId?: bigint;
  readonly sinceId?: bigint;
  readonly minId?: bigint;
  /** A cursor is not a number: nothing is above or below it. */
  readonly nothing: boolean;
}

/** Reads the query of the specification's list operation. Every query has an answer. */
function readListQuery(parameters: Parameters): ListQuery {
  const [maxId, sinceId, minId] = ['max_id', 'since_id', 'min_id'].map((name) => cursor(parameters[name]));
  return {
    limit: readLimit(scalar(parameters.limit)),
    ...(typeof maxId === 'bigint' && { maxId }),
    ...(typeof sinceId === 'bigint' && { sinceId }),
    ...(typeof minId === 'bigint' && { minId }),
    nothing: [maxId, sinceId, minId].includes('not a number'),
  };
}

/**
 * The page that a query asks for: always id descending. `min_id` takes the records right above it and then does away
 * with `since_id`; `max_id` holds with either.
 * @param records id descending
 */
function page<T extends { readonly id: number }>(records: readonly T[], query: ListQuery): T[] {
  const { limit, maxId, sinceId, minId } = query;
  if (query.nothing) return [];
  const floor = minId ?? sinceId;
  const within = records.filter(
    ({ id }) => (maxId === undefined || id < maxId) && (floor === undefined || id > floor),
  );
  return minId === undefined ? within.slice(0, limit) : within.slice(-limit);
}

function readLimit(sent: Scalar | undefined): number {
  const limit = Math.abs(leadingInteger(sent ?? 0));
  return limit === 0 ? LIMIT_DEFAULT : Math.min(limit, LIMIT_MAX);
}

function cursor(sent: unknown): bigint | 'not a number' | undefined {
  if (sent === undefined || sent === null) return undefined;
  const plain = scalar(sent);
  if (plain === undefined) return 'not a number';
  if (isBlank(plain)) return undefined;
  const text = String(plain).trim();
  // No id comes near to so many digits, and reading a megabyte of them would take the mock a while.
  return /^-?\d+$/.test(text) ? BigInt(text.slice(0, 40)) : 'not a number';
}

/** The parts of the Link header of a page. */
interface LinkedPage {
  /** Absolute address of the list, without a query. */
  readonly url: string;
  readonly ids: readonly number[];
  /** How many records the page could have had. */
  readonly limit: number;
  /** The `limit` of the request, if it had one. The header repeats it as it was sent, up to a length. */
  readonly sentLimit: Scalar | undefined;
}

/** The Link header of a page (RFC 8288): `next` only from a full one, `prev` from any but an empty one. */
function linkHeader({ url, ids, limit, sentLimit }: LinkedPage): string | undefined {
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
