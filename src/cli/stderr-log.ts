import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { openLog } from '../log.ts';

/** The log of a command that runs handlers in its own process: stdout is for data. */
export function stderrLog(config: Config): Logger {
  return openLog(config, 2).log;
}
