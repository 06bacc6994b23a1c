import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import { visibleLog } from '../visible.ts';

/** The log of a command that runs handlers in its own process: stdout is for data. */
export function stderrLog({ LOG_LEVEL }: Config): Logger {
  return pino({ level: LOG_LEVEL, ...visibleLog }, pino.destination({ dest: 2, sync: true }));
}
