import type { Response } from 'express';
import { logOutcome } from './request-log.ts';

/** Answers with JSON. Express's own way looks for caches and content types that do not matter here. */
export function answer(res: Response, status: number, body: object): void {
  const text = JSON.stringify(body);
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

/** Every answer that is not a success has this one shape, and never says more than its sender may know. */
export function answerError(res: Response, status: number, error: string): void {
  res.locals.error = error;
  res.locals.source = res.req.ip; // gone once the connection is closed
  if (status >= 500) logOutcome(res.req);
  answer(res, status, { error });
}

/** 413: more than BODY_LIMIT. Closes: the rest, however much it is, is not read. */
export function answerTooLarge(res: Response): void {
  res.set('Connection', 'close');
  answerError(res, 413, 'the body is too large');
}

/** 503: nothing was recorded, so the sender is to try again. */
export function answerUnavailable(res: Response, error: string): void {
  res.set('Retry-After', '5');
  answerError(res, 503, error);
}
