import { isIP } from 'node:net';
import type { RequestHandler } from 'express';
import { hostOf, isForeign, isLoopback } from '../../base/request-origin.ts';
import { refuse } from './refuse.ts';

const ANY = /^(0\.0\.0\.0|::)$/;

export interface HostOptions {
  /** the address that the listener is bound to */
  readonly adminHost: string;
  /** further names that lead to it */
  readonly names: readonly string[];
}

/**
 * Whether the Host of a request is a name of this listener. A foreign page can make its own name lead to 127.0.0.1 (DNS
 * rebinding), and the browser then takes both for one origin; but the page cannot change the name in the request.
 */
export function isOwnHost(header: string | undefined, { adminHost, names }: HostOptions): boolean {
  const name = hostOf(header)?.name;
  if (name === undefined) return false;
  if (isLoopback(name) || name === adminHost.toLowerCase() || names.includes(name)) return true;
  // A listener on all addresses has each of them as a name; an address cannot be rebound.
  return ANY.test(adminHost) && isIP(name) !== 0;
}

/** Refuses requests with a foreign name. */
export function guardHost(options: HostOptions): RequestHandler {
  return (req, res, next) => {
    if (isOwnHost(req.headers.host, options)) return next();
    refuse(req, res, 421, 'this host name is not allowed: add it to ADMIN_NAMES');
  };
}

/** Refuses requests from pages of other sites. */
export const guardOrigin: RequestHandler = (req, res, next) => {
  if (!isForeign(req.headers, req.method)) return next();
  refuse(req, res, 403, 'requests from other sites are refused');
};
