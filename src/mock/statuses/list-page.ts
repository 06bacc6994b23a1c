import type { Response } from 'express';
import { isBlank, leadingInteger, type Parameters, scalar } from './parameters.ts';

/** How many records a page has where the caller does not say, and at most. */
const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 40;

/**
 * The page that is asked for: always id descending. `min_id` takes the records right above it and then does away with
 * `since_id`; `max_id` holds with either. The way to the pages beside it goes into the answer's Link header (RFC 8288):
 * `next` only from a full page, `prev` from any but an empty one.
 * @param records id descending
 * @param asked the parameters of the request, and the absolute address of the list without a query
 */
export function answerPage<T extends { readonly id: number }>(
  records: readonly T[],
  asked: { readonly parameters: Parameters; readonly url: string },
  response: Response,
): T[] {
  const { parameters, url } = asked;
  const sentLimit = scalar(parameters.limit);
  const limit = Math.min(Math.abs(leadingInteger(sentLimit ?? 0)) || LIMIT_DEFAULT, LIMIT_MAX);
  const [maxId, sinceId, minId] = ['max_id', 'since_id', 'min_id'].map((name) => cursor(parameters[name]));
  // Nothing is above or below a cursor that is not a number.
  const isMeant = [maxId, sinceId, minId].every((one) => !Number.isNaN(one));
  const within = records.filter(
    ({ id }) => isMeant && id < (maxId ?? Number.POSITIVE_INFINITY) && id > (minId ?? sinceId ?? 0),
  );
  const page = minId === undefined ? within.slice(0, limit) : within.slice(-limit);
  const [first, last] = [page[0], page.at(-1)];
  if (first === undefined || last === undefined) return page;
  const link = (name: string, id: number, rel: string) => {
    const query = new URLSearchParams(sentLimit === undefined ? {} : { limit: `${sentLimit}`.slice(0, 40) });
    query.set(name, String(id));
    return `<${url}?${query}>; rel="${rel}"`;
  };
  const next = page.length < limit ? [] : [link('max_id', last.id, 'next')];
  response.set('Link', [...next, link('min_id', first.id, 'prev')].join(', '));
  return page;
}

/** The id that a cursor names; undefined if there is none, NaN if it is not a whole number. */
function cursor(sent: unknown): number | undefined {
  if (sent === undefined || sent === null) return undefined;
  const plain = scalar(sent);
  if (plain === undefined) return Number.NaN;
  if (isBlank(plain)) return undefined;
  return /^-?\d+$/.test(String(plain).trim()) ? Number(plain) : Number.NaN;
}
