import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a request may have been set off by another site's page (CSRF). Browsers say where a request comes from by
 * Origin on everything but plain reading, and by Sec-Fetch-Site on all; programs send neither.
 */
export function isForeign(headers: IncomingHttpHeaders, method: string): boolean {
  const { origin, host, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  // Schemes are not compared: with TLS ended in front, the browser says https and the listener speaks http.
  if (origin !== undefined) return host === undefined || origin.replace(/^https?:\/\//, '') !== host;
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  // Following a link from elsewhere is fine: it shows a page to the reader and nothing to the site with the link.
  return !(mode === 'navigate' && method === 'GET');
}

/** The name, without brackets and in lower case, and the port of a Host header; undefined where it is none. */
export function hostOf(header: string | undefined): { name: string; port: number | undefined } | undefined {
  const [, name, port] = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/i.exec(header ?? '') ?? [];
  if (name === undefined) return undefined;
  return { name: name.replace(/^\[|\]$/g, '').toLowerCase(), port: port === undefined ? port : Number(port) };
}

/** Whether a name or address, without brackets, is this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host);
}
