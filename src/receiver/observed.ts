import type { RequestHandler, Response } from 'express';
import type { JsonObject } from '../notification/json.ts';
import type { Observer } from '../observer.ts';
import { label } from './verified.ts';

/** Tells the observer about each request once its answer is out; what became of it stands in `res.locals`. */
export function observed(observer: Observer | undefined): RequestHandler {
  if (!observer) return (_req, _res, next) => next();
  return (req, res, next) => {
    const began = performance.now();
    const source = req.ip ?? ''; // gone once the connection is closed
    res.on('finish', () => tell(observer, res, { ms: performance.now() - began, source }));
    next();
  };
}

function tell(observer: Observer, res: Response, at: { ms: number; source: string }): void {
  const { recorded, error, refused, body } = res.locals;
  const value: JsonObject = body ?? {};
  observer.answered({
    ...at,
    status: res.statusCode,
    recorded,
    error,
    refusal: refused?.refusal,
    kind: label(value.event),
    webhookId: label(value.webhook_id),
  });
}
