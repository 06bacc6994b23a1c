import { Command } from 'commander';
import { openLog } from '../base/log.ts';
import { type Config, loadConfig } from '../config.ts';
import { loadApp } from '../dispatch/load-handlers.ts';
import { guardProcess } from '../dispatch/process-guard.ts';
import { start } from '../start.ts';
import { stopInOrder } from '../stopping.ts';

/** The time for the rest of a stop, after draining and the grace time of the handlers: aborted handlers, open connections, the last commit. */
const CLOSING_MS = 10_000;

export function serveCommand(): Command {
  return new Command('serve')
    .description(
      'Serve the receiver: verify and record notifications, and run your handlers, until SIGTERM or Ctrl-C.',
    )
    .action(() => serve(loadConfig()));
}

async function serve(config: Config): Promise<void> {
  const output = openLog(config);
  const { log } = output;
  const guard = guardProcess(log);
  const service = await start({
    config,
    app: await loadApp(config),
    log,
    droppedLogLines: output.dropped,
  });
  log.info({ host: config.HOST, port: service.port, path: config.WEBHOOK_PATH }, 'receiving');
  stopInOrder({
    output,
    guard,
    delay: config.DRAIN_MS + config.SHUTDOWN_GRACE_MS + CLOSING_MS,
    stop: () => service.stop(),
  });
}
