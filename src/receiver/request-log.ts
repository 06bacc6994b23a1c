import { randomUUID } from 'node:crypto';
import type { Express, Request, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { pinoHttp, startTime } from 'pino-http';
import type { Clock } from '../base/clock.ts';
import { cutOut } from '../base/cut.ts';

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
    res[startTime] = clock.now();
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

/** At most 200 MB a day. */
const REFUSAL_LINES = 10;
const SECOND_MS = 1000;

interface RefusalLogOptions {
  readonly log: Pick<Logger, 'warn'>;
  readonly clock: Clock;
  /** lines a second about refused requests, from all sources together */
  readonly mostASecond?: number | undefined;
}

/** Writes a line on a request that was refused, in its own log. */
export type LogRefusal = (req: Request, fields: object, message: string) => void;

/**
 * Bounds the lines about refusals, for all sources together: a flood may come from any number of sources. Lines left out are
 * counted, and one line has the count at the end of its second.
 */
export function refusalLog({ log, clock, mostASecond = REFUSAL_LINES }: RefusalLogOptions): LogRefusal {
  let written = 0;
  let leftOut = 0;
  let isCounting = false;
  const end = () => {
    if (leftOut > 0) log.warn({ leftOut }, 'more requests were refused than are logged');
    written = 0;
    leftOut = 0;
    isCounting = false;
  };
  return (req, fields, message) => {
    if (!isCounting) {
      isCounting = true;
      clock.after(SECOND_MS, end);
    }
    if (written < mostASecond) {
      written++;
      req.log.warn(fields, message);
    } else leftOut++;
  };
}
