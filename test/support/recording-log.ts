import { type Logger, pino } from 'pino';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [member: string]: unknown;
}

/** A log whose lines a test can read, from debug on. */
export function recordingLog(): { readonly log: Logger; readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line));
  return { log: pino({ level: 'debug' }, { write }), lines };
}
