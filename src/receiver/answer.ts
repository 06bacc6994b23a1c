import type { Response } from 'express';

/** Every answer that is not a success has this one shape, and never says more than its sender may know. */
export function answerError(res: Response, status: number, error: string): void {
  res.status(status).json({ error });
}

/** 503: nothing was recorded, so the sender is to try again. */
export function answerUnavailable(res: Response, error: string): void {
  res.set('Retry-After', '5');
  answerError(res, 503, error);
}
