import { randomBytes } from 'node:crypto';
import type { Express, Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { pinoHttp, startTime } from 'pino-http';

/**
 * Gives each request an id, which its answer carries as `X-Request-Id`, and a `log` that names it. No header is ever
 * logged, Authorization least of all, and no query string. Most requests have nothing to say at the usual level, and
 * pino-http took a fifth of an ack's time: it sets to work on a request when its `log` is first asked for.
 */
export function requestLog(app: Express, log: Logger): RequestHandler {
  const start = randomBytes(6).toString('hex');
  let count = 0;
  const http = pinoHttp({
    logger: log,
    quietReqLogger: true,
    genReqId: (req) => req.id,
    customLogLevel: (_req, res, error) => (error || res.statusCode >= 500 ? 'error' : 'debug'),
    wrapSerializers: false,
    serializers: {
      req: (req) => ({ method: req.method, path: String(req.url).split('?')[0] }),
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
    req.id = `${start}-${(++count).toString(36)}`;
    res.setHeader('X-Request-Id', req.id);
    res[startTime] = Date.now();
    if (log.isLevelEnabled('debug')) logOutcome(req);
    next();
  };
}

/** Has the request's status logged once it is answered. */
export function logOutcome(req: Request): void {
  Reflect.get(req, 'log');
}
