import { randomUUID } from 'node:crypto';
import type { Express, Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { pinoHttp, startTime } from 'pino-http';
import { cutOut } from '../base/cut.ts';

/**
 * Gives each request an id, which its answer carries as `X-Request-Id`, and a `log` that names it. No header is ever
 * logged, Authorization least of all, and no query string. Most requests have nothing to say at the usual level, and
 * pino-http took a fifth of an ack's time: it sets to work on a request when its `log` is first asked for.
 */
export function requestLog(app: Express, log: Logger): RequestHandler {
  const http = pinoHttp({
    logger: log,
    quietReqLogger: true,
    genReqId: (req) => req.id,
    customLogLevel: (_req, res, error) => (error || res.statusCode >= 500 ? 'error' : 'debug'),
    wrapSerializers: false,
    serializers: {
      req: (req) => ({ method: req.method, path: pathOf(String(req.url)) }),
      res: (res) => ({ status: res.statusCode }),
    },
  });
  Object.defineProperty(app.request, 'log', {
    get(this: Request) {
      // From now on it has one of its own.
      Object.defineProperty(this, 'log', { value: undefined, writable: true });
      if (this.res) http(this, this.res);
      return this.log;
    },
  });
  return (req, res, next) => {
    // Random, as a number that goes up would tell strangers how many requests there are.
    const digits = randomUUID().replaceAll('-', ''); // Node draws these ahead
    req.id = `${digits.slice(20)}-${digits.slice(0, 12)}`;
    res.setHeader('X-Request-Id', req.id);
    res[startTime] = Date.now();
    if (log.isLevelEnabled('debug')) logOutcome(req);
    next();
  };
}

const LONGEST_PATH = 200;

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return cutOut(url, Math.min(LONGEST_PATH, end < 0 ? url.length : end));
}

/** Has the request's status logged once it is answered. */
export function logOutcome(req: Request): void {
  Reflect.get(req, 'log');
}
