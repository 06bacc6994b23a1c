import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Logger } from 'pino';
import { isUnavailable, KitError } from '../../base/errors.ts';
import { textOf } from '../../base/thrown.ts';

/** The refusal of a request, thrown where it is answered. */
export class RefusedError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Refuses a request: with JSON for programs, with a line of text for people. */
export function refuse(req: Request, res: Response, status: number, error: string): void {
  res.status(status);
  if (req.path.startsWith('/api/') || !req.accepts('html')) res.json({ error });
  else res.type('text').send(`${error}\n`);
}

/** Answers a request whose route failed. */
export function refuseFailed(log: Logger): ErrorRequestHandler {
  return (error, req, res, _next) => {
    if (res.destroyed) return;
    if (error instanceof RefusedError) return refuse(req, res, error.status, error.message);
    if (error instanceof KitError && error.code === 'INPUT_INVALID')
      return refuse(req, res, 400, error.message);
    const status: unknown = error?.status;
    if (typeof status === 'number' && status >= 400 && status < 500)
      return refuse(req, res, status, 'the request cannot be read');
    log.error({ error: textOf(error), path: req.path }, 'admin request failed');
    if (res.headersSent) return void res.destroy(); // the browser must not take half an answer for a whole one
    if (isUnavailable(error)) return refuse(req, res.set('Retry-After', '5'), 503, error.message); // as the receiver's 503 says
    refuse(req, res, 500, 'internal error; see the log');
  };
}
