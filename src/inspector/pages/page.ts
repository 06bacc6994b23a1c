import type { Request, Response } from 'express';
import type { z } from 'zod';
import { mistakesOf, Refused } from '../api/endpoint.ts';
import { overlooked, withoutEmpty } from '../api/overlooked.ts';

/** Makes a page: the name of its view, and the values that the view needs. */
export type Page = (
  req: Request,
  res: Response,
) => Promise<{ readonly view: string; readonly [name: string]: unknown }>;

/**
 * Checks the query or form of a request.
 * @throws Refused 400 that names each mistake
 */
export function readQuery<S extends z.ZodType>(
  schema: S,
  given: Request['query'] | Request['body'],
): z.output<S> {
  const parsed = schema.safeParse(withoutEmpty(given));
  if (parsed.success) return parsed.data;
  throw new Refused(400, mistakesOf(parsed.error));
}

/**
 * Checks the form of a request that changes something.
 * @throws Refused 400 that names each mistake, and each field and query parameter that is not known
 */
export function readForm<S extends z.ZodObject>(schema: S, req: Request): z.output<S> {
  const mistake = overlooked(req, { inQuery: [], inBody: Object.keys(schema.shape) });
  if (mistake !== undefined) throw new Refused(400, mistake);
  return readQuery(schema, req.body);
}

/** The texts of a query as they were given, without empty ones, to fill forms and links. */
export function textsOf(
  given: Request['query'] | Request['body'],
  names: readonly string[],
): Record<string, string> {
  const texts = Object.entries(withoutEmpty(given)).filter(
    (pair): pair is [string, string] => names.includes(pair[0]) && typeof pair[1] === 'string',
  );
  return Object.fromEntries(texts);
}
