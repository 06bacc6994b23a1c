import type { RequestHandler, Response } from 'express';
import type { Observer } from '../observer.ts';
import { label } from './verified.ts';

/** Tells the observer about each request once its answer is out; what became of it stands in `res.locals`. */
export function observed(observer: Observer | undefined): RequestHandler {
  if (!observer) return (_req, _res, next) => next();
  return (_req, res, next) => {
    const began = performance.now();
    res.on('finish', () => tell(observer, res, performance.now() - began));
    next();
  };
}

function tell(observer: Observer, res: Response, ms: number): void {
  const { recorded, error, refusal, claimed, source = '' } = res.locals;
  observer.answered({
    ms,
    source,
    status: res.statusCode,
    recorded,
    error,
    refusal,
    kind: label(claimed?.outline.event),
    webhookId: claimed?.webhookId ?? '',
  });
}
