import type { Request, RequestHandler } from 'express';
import { visible } from '../../base/visible.ts';

/** The names that a route knows. */
export interface KnownNames {
  readonly inQuery: readonly string[];
  readonly inBody: readonly string[];
}

/**
 * The part of a request that its route would pass over, as an error text; undefined if there is none. A route refuses it: with
 * a mistyped `dry_run` it would change what was only to be counted, and with a mistyped filter take or show more than was
 * meant. A parameter that is given twice, by the query or by query and body, is such a part, as one of its values would not count.
 */
export function overlooked(req: Request, { inQuery, inBody }: KnownNames): string | undefined {
  const body: unknown = req.body;
  if (body === undefined && hasBody(req)) return 'the body cannot be read: correct its Content-Type';
  if (Array.isArray(body)) return 'the body must be an object';
  const strange = [...strangeTo(inQuery, req.query, req.params), ...strangeTo(inBody, body, req.params)];
  const repeated = Object.keys(req.query).filter(
    (name) => Array.isArray(req.query[name]) || Object.hasOwn(Object(body), name),
  );
  if (strange.length === 0 && repeated.length === 0) return undefined;
  const known = [...new Set([...inQuery, ...inBody])].filter((name) => !Object.hasOwn(req.params, name));
  const [mistake, names] = strange.length > 0 ? ['unknown', strange] : ['given more than once', repeated];
  return `${mistake}: ${[...new Set(names)].map(quoted).join(', ')}; known are ${known.join(', ') || 'none'}`;
}

/** Refuses what a route passes over that has no parameters. */
export const expectNoParameters: RequestHandler = (req, res, next) => {
  const mistake = overlooked(req, { inQuery: [], inBody: [] });
  if (mistake === undefined) return next();
  res.status(400).json({ error: mistake });
};

/** The given names that are not known, and those that the path has given already. Empty values count too. */
function strangeTo(known: readonly string[], given: unknown, inPath: object): string[] {
  return Object.keys(given ?? {}).filter((name) => !known.includes(name) || Object.hasOwn(inPath, name));
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function quoted(name: string): string {
  return visible(JSON.stringify(name));
}

/** The given members, without empty ones. */
export function withoutEmpty(given: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== ''));
}
