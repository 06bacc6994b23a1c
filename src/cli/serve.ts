import type { Command } from 'commander';
import { openLog } from '../base/log.ts';
import { loadConfig } from '../config.ts';
import { loadDefinition, readApp } from '../dispatch/load-handlers.ts';
import { guardProcess } from '../dispatch/process-guard.ts';
import { doubtsOf } from '../doubts.ts';
import { start } from '../start.ts';
import { stopInOrder } from '../stopping.ts';
import { watchLoop } from './loop-watch.ts';

/**
 * The time for the rest of a stop, after draining and the grace time of the handlers: aborted handlers, open connections, the last commit.
 * With the defaults, a process is gone before `docker stop` would kill it.
 */
const CLOSING_MS = 2000;

export function addServe(program: Command): void {
  program
    .command('serve')
    .description('Serve: verify and record notifications, and run your handlers, until SIGTERM or Ctrl-C.')
    .action(serve);
}

async function serve(_: object, command: Command): Promise<void> {
  const flags = command.optsWithGlobals();
  const config = loadConfig(flags);
  const output = openLog(config);
  const { log } = output;
  const expectExit = guardProcess(log);
  const definition = await loadDefinition(config, (text) => log.warn(text));
  for (const reason of doubtsOf(flags, definition)) log.warn({ reason }, 'a setting may be a mistake');
  const app = watchLoop(readApp(definition, config), log);
  const started = start({ config, app, log, droppedLogLines: output.dropped });
  const service = await started.catch(async (error) => {
    await output.flush(); // else the line that says why may overtake others
    throw error;
  });
  log.info({ host: config.HOST, port: service.port, path: config.WEBHOOK_PATH }, 'receiving');
  const delay = config.DRAIN_MS + config.SHUTDOWN_GRACE_MS + CLOSING_MS;
  stopInOrder({ output, expectExit, delay, stop: () => service.stop() });
}
