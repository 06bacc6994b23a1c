import { isIP } from 'node:net';
import type { RequestHandler } from 'express';

/**
 * Refuses a browser that some web page has sent: by a name rebound to this machine (a foreign Host), or across origins
 * (a foreign Origin). An IP address cannot be rebound.
 * @param host where the mock listens, a name that is taken too
 */
export function guard(host: string): RequestHandler {
  const isOwn = (name: string) =>
    name === host ||
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    isIP(name.replace(/^\[|\]$/g, '')) !== 0;
  return (request, response, next) => {
    const { host: asked = '', origin } = request.headers;
    if (!isOwn(hostnameOf(asked))) {
      response
        .status(403)
        .json({ error: 'Host must be localhost, an IP address, or where the mock listens' });
    } else if (origin !== undefined && !isOwn(hostnameOf(origin.replace(/^https?:\/\//, '')))) {
      response.status(403).json({ error: 'requests from other origins are refused' });
    } else next();
  };
}

function hostnameOf(authority: string): string {
  return /^([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i.exec(authority)?.[1]?.toLowerCase() ?? '';
}
