import type { Parameters } from './nested-parameters.ts';
import { isBlank, leadingInteger, type Scalar, scalar } from './scalars.ts';

/** How many records a page has where the caller does not say. */
export const LIMIT_DEFAULT = 20;
/** How many records a page has at most. */
export const LIMIT_MAX = 40;

/** What a caller wants to see of a list. Ids are compared as whole numbers of any length. */
export interface ListQuery {
  readonly limit: number;
  readonly maxId?: bigint;
  readonly sinceId?: bigint;
  readonly minId?: bigint;
  /** A cursor is not a number: nothing is above or below it. */
  readonly nothing: boolean;
}

/** Reads the query of the specification's list operation. Whatever is sent, there is an answer. */
export function readListQuery(parameters: Parameters): ListQuery {
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
export function page<T extends { readonly id: number }>(records: readonly T[], query: ListQuery): T[] {
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
