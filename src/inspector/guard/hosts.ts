import { isIP } from 'node:net';
import type { RequestHandler } from 'express';
import { hostOf, isForeign, isLoopback } from '../../base/request-origin.ts';
import { refuse } from './refuse.ts';

const ANY = /^(0\.0\.0\.0|::)$/;

export interface HostOptions {
  /** what the listener is bound to */
  readonly adminHost: string;
  /** further names that lead to it */
  readonly names: readonly string[];
}

/**
 * Whether a request asks for this listener by a name that is its own. A page of somebody else's can have its own name
 * lead to 127.0.0.1 (DNS rebinding), and the browser then takes it for the same origin; but it cannot change the name.
 */
export function isOwnHost(header: string | undefined, { adminHost, names }: HostOptions): boolean {
  const name = hostOf(header)?.name;
  if (name === undefined) return false;
  if (isLoopback(name) || name === adminHost.toLowerCase() || names.includes(name)) return true;
  // Bound to all addresses it may be asked for by any of them; nobody can rebind an address.
  return ANY.test(adminHost) && isIP(name) !== 0;
}

/** Refuses whoever asks by a foreign name. */
export function guardHost(options: HostOptions): RequestHandler {
  return (req, res, next) => {
    if (isOwnHost(req.headers.host, options)) return next();
    refuse(req, res, 421, 'this name does not lead here: set ADMIN_NAMES to the names that may');
  };
}

/** Refuses what another site's page set off. */
export const guardOrigin: RequestHandler = (req, res, next) => {
  if (!isForeign(req.headers, req.method)) return next();
  refuse(req, res, 403, 'requests of other sites are refused');
};
