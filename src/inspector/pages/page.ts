import type { Request, Response } from 'express';
import type { z } from 'zod';
import { mistakesOf, Refused } from '../api/endpoint.ts';
import { withoutEmpty } from '../api/filters.ts';

/** Shows a page: its view, and what that needs. */
export type Page = (
  req: Request,
  res: Response,
) => Promise<{ readonly view: string; readonly [name: string]: unknown }>;

/**
 * What a request's query or form says.
 * @throws Refused 400 naming what is wrong
 */
export function readQuery<S extends z.ZodType>(
  schema: S,
  given: Request['query'] | Request['body'],
): z.output<S> {
  const parsed = schema.safeParse(withoutEmpty(given));
  if (parsed.success) return parsed.data;
  throw new Refused(400, mistakesOf(parsed.error));
}

/** The query as it was given, to fill forms and links with; only texts, no empty ones. */
export function textsOf(
  given: Request['query'] | Request['body'],
  names: readonly string[],
): Record<string, string> {
  const texts = Object.entries(withoutEmpty(given)).filter(
    (pair): pair is [string, string] => names.includes(pair[0]) && typeof pair[1] === 'string',
  );
  return Object.fromEntries(texts);
}
