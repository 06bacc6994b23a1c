import { type Logger, pino } from 'pino';

/** A logger that keeps what it is given, as the lines that it would print. */
export interface LogLines {
  readonly log: Logger;
  readonly lines: readonly string[];
  /** The lines with this message, parsed. */
  withMessage(message: string): readonly { readonly [member: string]: unknown }[];
}

export function logLines(level = 'trace'): LogLines {
  const lines: string[] = [];
  const log = pino({ level }, { write: (line: string) => void lines.push(line) });
  const entries = () => lines.map((line): { readonly [member: string]: unknown } => JSON.parse(line));
  return { log, lines, withMessage: (message) => entries().filter(({ msg }) => msg === message) };
}
