import type { Request, Response } from 'express';
import { withoutEmpty } from '../api/endpoint.ts';

/** Makes a page: the name of its view, and the values that the view needs. */
export type Page = (
  req: Request,
  res: Response,
) => Promise<{ readonly view: string; readonly title: string; readonly [name: string]: unknown }>;

/** The texts of a query or form as they were given, without empty ones, to fill forms and links. */
export function textsOf(given: object, names: readonly string[]): Record<string, string> {
  const texts = Object.entries(withoutEmpty(given)).filter(
    (pair): pair is [string, string] => names.includes(pair[0]) && typeof pair[1] === 'string',
  );
  return Object.fromEntries(texts);
}

/** The way from a request's path to that of the listener. Links are relative, so that they lead on below the path of a proxy. */
export function rootOf({ originalUrl }: Pick<Request, 'originalUrl'>): string {
  const [path = ''] = originalUrl.split('?');
  return '../'.repeat(path.split('/').length - 2) || './';
}
