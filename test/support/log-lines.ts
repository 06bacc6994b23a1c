import { pino } from 'pino';
import { logFormat } from '../../src/base/log.ts';

/** A logger that keeps what it is given, as the lines that it would print. */
export type LogLines = ReturnType<typeof logLines>;

export function logLines(level = 'trace') {
  const lines: string[] = [];
  const log = pino({ level, ...logFormat }, { write: (line: string) => void lines.push(line) });
  const entries = () => lines.map((line): { readonly [member: string]: unknown } => JSON.parse(line));
  /** The lines with this message, parsed. */
  const withMessage = (message: string) => entries().filter(({ msg }) => msg === message);
  return { log, lines, entries, withMessage };
}
