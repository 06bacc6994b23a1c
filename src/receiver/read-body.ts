import type { IncomingMessage } from 'node:http';
import { Gathered } from '../base/gathered.ts';

/** Chunks smaller than this cost more time and memory than their bytes are worth; a body may have so many of them. */
const SMALL = 64;
const MOST_SMALL_CHUNKS = 256;

/** Why a body was not read to its end. */
export type BodyProblem = 'too large' | 'cut off' | 'too many small chunks';

/**
 * Reads a body of at most `limit` bytes, in memory that grows with the bytes that have come, and that is the caller's to give back
 * (see gathered.ts).
 */
export function readBody(req: IncomingMessage, limit: number): Promise<Buffer | BodyProblem> {
  return new Promise((resolve) => {
    const body = new Gathered();
    const isChunked = req.headers['transfer-encoding'] !== undefined;
    let small = 0;
    const end = (read: Buffer | BodyProblem) => {
      req.off('data', take).off('end', finish).off('close', cutOff);
      if (typeof read === 'string') body.clear();
      resolve(read);
    };
    const take = (piece: Buffer) => {
      if (piece.length < SMALL) small++;
      if (body.length + piece.length > limit) end('too large');
      else if (isChunked && small > MOST_SMALL_CHUNKS) end('too many small chunks');
      else body.add(piece);
    };
    const finish = () => end(body.bytes);
    const cutOff = () => end('cut off');
    req.on('data', take).on('end', finish).on('close', cutOff);
  });
}
