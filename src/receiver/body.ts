import type { RequestHandler } from 'express';
import { Gathered } from './gathered.ts';

/** Pieces of a body in chunks that may be small: beyond them, each takes more time and memory than its bytes are worth. */
const SMALL_PIECES = 512;
const SMALL = 64;

class BodyError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Reads a body of at most so many bytes as `req.body`, in memory that grows with what has come. What is wrong with it goes
 * to `next` with a status: 413 if it is larger, 400 if it does not come to its end, or comes in a great many tiny chunks.
 */
export function collectBody(limit: number): RequestHandler {
  return (req, _res, next) => {
    const body = new Gathered();
    const isChunked = req.headers['transfer-encoding'] !== undefined;
    let small = 0;
    const end = (error?: BodyError) => {
      req.off('data', take).off('end', finish).off('close', cutOff);
      if (!error) req.body = body.bytes;
      next(error);
    };
    const take = (piece: Buffer) => {
      if (piece.length < SMALL) small++;
      if (body.length + piece.length > limit) end(new BodyError(413, 'the body is too large'));
      else if (isChunked && small > SMALL_PIECES) end(new BodyError(400, 'the chunks are too small'));
      else body.add(piece);
    };
    const finish = () => end();
    const cutOff = () => end(new BodyError(400, 'the body was cut off'));
    req.on('data', take).on('end', finish).on('close', cutOff);
  };
}
