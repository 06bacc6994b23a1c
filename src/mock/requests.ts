import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { hostOf, isForeign, isLoopback } from '../base/request-origin.ts';

/** The mock cannot do what a verb asks. `message` says what to do; a control route answers with `status`. */
export class MockError extends Error {
  override readonly name = 'MockError';
  readonly status: 400 | 404;

  constructor(status: 400 | 404, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The HTTP status of an error of Express or of the mock; 500 for any other error. */
export function statusOf(error: unknown): number {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type Act = (given: { id: string; part: string; body: unknown; query: unknown }) => unknown;

/**
 * Adds routes to a router. Each answers what its act gives as JSON, under a status. `id` and `part` are those of the path.
 * The body may be of any content type, since clients send none or odd ones.
 */
export function jsonRoutes(router: Router) {
  return (method: Method, path: string, status: number, act: Act): void => {
    const reads = method === 'get' || method === 'delete' ? [] : [jsonBody];
    router[method](path, ...reads, async ({ params, body, query }, response) => {
      const given = { id: String(params.id), part: String(params.part), body, query };
      response.status(status).json(await act(given));
    });
  };
}

const jsonBody = express.json({ type: () => true, limit: '1mb' });

/**
 * Checks input from outside against a schema.
 * @throws MockError 400 that names each wrong member
 */
export function parse<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join('.')}: ${message}` : message,
  );
  throw new MockError(400, problems.join('; '), { cause: parsed.error });
}

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
    const { localAddress, localPort = 80 } = socket; // none within this process
    const address = localAddress?.replace(/^::ffff:/, ''); // IPv4, on a socket that takes both
    return port === localPort && (isLoopback(name) || name === host.toLowerCase() || name === address);
  };
  return (request, response, next) => {
    if (!isOwn(request)) {
      refuse(response, 'Host must be the address of the mock, or a name given with hookkit mock --name');
    } else if (isForeign(request.headers, request.method)) {
      refuse(response, 'requests from pages of other origins are refused');
    } else next();
  };
}

interface RateLimitOptions {
  readonly clock: Clock;
  /** how many requests one caller has in a window */
  readonly limit: number;
  /** windows begin at the multiples of this */
  readonly windowMs: number;
}

export type RateLimit = ReturnType<typeof rateLimit>;

/** Counts the requests of each caller in windows of one length. */
export function rateLimit({ clock, limit, windowMs }: RateLimitOptions) {
  const used = new Map<string, number>();
  let current = 0;
  return {
    limit,
    /** Counts one request. @returns how many the caller has left after it; negative if this one is too many */
    take(caller: string): number {
      const window = Math.floor(clock.now() / windowMs);
      if (window !== current) used.clear();
      current = window;
      const count = (used.get(caller) ?? 0) + 1;
      used.set(caller, count);
      return limit - count;
    },
    reset: () => used.clear(),
  };
}
