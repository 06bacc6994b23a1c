import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHandler } from 'express';
import { refuse } from './refuse.ts';

/**
 * Whether a request may have been set off by another site's page (CSRF). Browsers say where a request comes from by
 * Origin on everything but plain reading, and by Sec-Fetch-Site on all; programs send neither.
 */
export function isForeign(headers: IncomingHttpHeaders, method: string): boolean {
  const { origin, host, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  if (origin !== undefined) return !isOriginOf(origin, host);
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  // Following a link from elsewhere is fine: it shows a page to the reader and nothing to the site with the link.
  return !(mode === 'navigate' && method === 'GET');
}

/** Refuses what another site's page set off. */
export const guardOrigin: RequestHandler = (req, res, next) => {
  if (!isForeign(req.headers, req.method)) return next();
  refuse(req, res, 403, 'requests of other sites are refused');
};

/** Schemes are not compared: with TLS ended in front, the browser says https and this listener speaks http. */
function isOriginOf(origin: string, host: string | undefined): boolean {
  const [, authority] = /^https?:\/\/([^/]+)$/.exec(origin) ?? [];
  return authority !== undefined && authority === host;
}
