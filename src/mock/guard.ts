import type { Request, RequestHandler, Response } from 'express';
import { hostOf, isForeign, isLoopback } from '../base/request-origin.ts';

export interface GuardOptions {
  /** where the mock listens */
  readonly host: string;
  /** further names that lead to it, `HOST` or `HOST:PORT`: behind a proxy, in a container */
  readonly names: readonly string[];
}

/**
 * Refuses requests that a foreign page makes a browser send: under a name of that page which leads to this machine (DNS
 * rebinding, a foreign Host), or across origins (a foreign Origin). The default credentials are published, so they do
 * not keep pages out.
 * @param refuse answers with 403 and why
 */
export function guard(
  { host, names }: GuardOptions,
  refuse: (response: Response, why: string) => void,
): RequestHandler {
  const further = names.map(hostOf);
  const isOwn = ({ headers, socket }: Request): boolean => {
    const asked = hostOf(headers.host);
    if (asked === undefined) return false;
    const { name, port = 80 } = asked;
    if (further.some((one) => one?.name === name && (one.port ?? asked.port) === asked.port)) return true;
    const address = socket.localAddress?.replace(/^::ffff:/, ''); // IPv4, on a socket that takes both
    return port === socket.localPort && (isLoopback(name) || name === host.toLowerCase() || name === address);
  };
  return (request, response, next) => {
    if (!isOwn(request)) {
      refuse(response, 'Host must be the address of the mock, or a name given with hookkit mock --name');
    } else if (isForeign(request.headers, request.method)) {
      refuse(response, 'requests from pages of other origins are refused');
    } else next();
  };
}
