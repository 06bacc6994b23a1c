import type { Response } from 'express';

/** Every answer that is not a success has this one shape, and never says more than its sender may know. */
export function answerError(res: Response, status: number, error: string): void {
  res.locals.error = error;
  res.status(status).json({ error });
}

/** 413: more than BODY_LIMIT, as it came or as it was compressed. */
export function answerTooLarge(res: Response): void {
  answerError(res, 413, 'the body is too large');
}

/** 503: nothing was recorded, so the sender is to try again. */
export function answerUnavailable(res: Response, error: string): void {
  res.set('Retry-After', '5');
  answerError(res, 503, error);
}
