import { randomBytes } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { pinoHttp } from 'pino-http';

/**
 * Gives each request an id, which its answer carries as `X-Request-Id`, and a logger that names it. No header is ever
 * logged, Authorization least of all, and no query string.
 */
export function requestLog(log: Logger): RequestHandler {
  const start = randomBytes(6).toString('hex');
  let count = 0;
  return pinoHttp({
    logger: log,
    quietReqLogger: true,
    genReqId(_req, res) {
      const id = `${start}-${(++count).toString(36)}`;
      res.setHeader('X-Request-Id', id);
      return id;
    },
    customLogLevel: (_req, res, error) => (error || res.statusCode >= 500 ? 'error' : 'debug'),
    wrapSerializers: false,
    serializers: {
      req: (req) => ({ method: req.method, path: String(req.url).split('?')[0] }),
      res: (res) => ({ status: res.statusCode }),
    },
  });
}
