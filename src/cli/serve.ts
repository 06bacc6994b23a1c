import closeWithGrace from 'close-with-grace';
import { Command } from 'commander';
import { messageOf } from '../base/errors.ts';
import { openLog } from '../base/log.ts';
import { type Config, loadConfig } from '../config.ts';
import { loadHandlers } from '../dispatch/load-handlers.ts';
import { guardProcess, UNCAUGHT } from '../dispatch/process-guard.ts';
import { start } from '../start.ts';

/** The time for the rest of a stop, after the grace time of the handlers: aborted handlers, open connections, the last commit. */
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
    handlers: await loadHandlers(config),
    log,
    droppedLogLines: output.dropped,
  });
  log.info({ host: config.HOST, port: service.port, path: config.WEBHOOK_PATH }, 'receiving');
  const delay = config.SHUTDOWN_GRACE_MS + CLOSING_MS;
  const cutShort = (error: string) => {
    guard.expectExit();
    log.fatal({ error }, 'did not stop in order; all acknowledged notifications are on disk');
  };
  const options = {
    delay,
    logger: false,
    skip: UNCAUGHT,
    onTimeout: () => cutShort(`stopping took longer than ${delay} ms`),
    onSecondSignal: (signal: string) => cutShort(`a second signal came: ${signal}`),
  } as const;
  closeWithGrace(options, async ({ signal }) => {
    log.info({ signal }, 'stopping');
    try {
      await service.stop();
    } catch (error) {
      cutShort(messageOf(error));
      throw error;
    }
    guard.expectExit();
    log.info('stopped');
    await output.flush();
  });
}
