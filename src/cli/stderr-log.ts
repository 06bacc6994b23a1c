import { type Logger, pino } from 'pino';
import { visibleLog } from '../base/visible.ts';
import type { Config } from '../config.ts';
import { terminal } from './terminal.ts';

/** The log of a command that runs handlers in its own process. It goes to stderr, as stdout is for data. */
export function stderrLog(config: Config): Logger {
  return pino({ level: config.LOG_LEVEL, ...visibleLog }, terminal().stderr);
}
