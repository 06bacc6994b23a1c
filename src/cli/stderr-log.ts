import type { Logger } from 'pino';
import { openLog } from '../base/log.ts';
import type { Config } from '../config.ts';

/** The log of a command that runs handlers in its own process: stdout is for data. */
export function stderrLog(config: Config): Logger {
  return openLog(config, 2).log;
}
