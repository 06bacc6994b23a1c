import type { Request } from 'express';
import type { Logger } from 'pino';

/** Lines a second about what was refused, whoever sent it: at most 200 MB a day. */
export const REFUSAL_LINES = 10;
const SECOND_MS = 1000;

/** Writes a line on a request that was refused, in its own log. */
export type LogRefusal = (req: Request, fields: object, message: string) => void;

/**
 * Bounds the lines about refusals for all sources together, as a flood may come from any number of them. What is left out
 * is counted, and one line tells the count once its second is over.
 */
export function refusalLog(log: Pick<Logger, 'warn'>, mostASecond: number): LogRefusal {
  let written = 0;
  let leftOut = 0;
  let isCounting = false;
  const end = () => {
    if (leftOut > 0) log.warn({ leftOut }, 'more was refused than is logged');
    written = 0;
    leftOut = 0;
    isCounting = false;
  };
  return (req, fields, message) => {
    if (!isCounting) {
      isCounting = true;
      setTimeout(end, SECOND_MS).unref();
    }
    if (written < mostASecond) {
      written++;
      req.log.warn(fields, message);
    } else leftOut++;
  };
}
