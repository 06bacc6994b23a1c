import { randomUUID } from 'node:crypto';
import type { Express, Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { pinoHttp, startTime } from 'pino-http';
import type { Clock } from '../base/clock.ts';
import { cutOut } from '../base/cut.ts';
import { messageOf } from '../base/errors.ts';
import type { BoundedLog } from './bounded-log.ts';

/**
 * Gives each request an id, which its answer carries as `X-Request-Id`, and a `log` that names it. No header is ever
 * logged, Authorization least of all, and no query string. Most requests have nothing to say at the usual level, and
 * pino-http took a fifth of an ack's time: it sets to work on a request when its `log` is first asked for.
 */
export function requestLog(app: Express, { log, clock }: { log: Logger; clock: Clock }): RequestHandler {
  const http = pinoHttp({
    logger: log,
    quietReqLogger: true,
    genReqId: (req) => req.id,
    // A request that fails has its line in the bounded log. This one is for those who want to see every request.
    customLogLevel: () => 'debug',
    // pino-http makes an error of its own for each 5xx, whose stack tells nothing.
    customErrorObject: (_req, res, error, { responseTime }) => ({
      res,
      error: messageOf(error),
      responseTime,
    }),
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
    res[startTime] = clock.now();
    if (log.isLevelEnabled('debug')) Reflect.get(req, 'log'); // and so its status, once it is answered
    next();
  };
}

const LONGEST_PATH = 200;

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return cutOut(url, Math.min(LONGEST_PATH, end < 0 ? url.length : end));
}

interface Failure {
  readonly status: number;
  /** what its client is told */
  readonly error: string;
  /** what was thrown; without it, the service refused the request because of its own state */
  readonly cause?: unknown;
}

/** The one line on a request that is answered 500 or 503. */
export function logFailure(lines: BoundedLog, req: Request, { status, error, cause }: Failure): void {
  const path = pathOf(req.originalUrl);
  if (cause === undefined) lines.failure(req, { status, path, error }, 'request not served');
  else lines.failure(req, { status, path, error: messageOf(cause) }, 'request failed');
}
