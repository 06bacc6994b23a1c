import closeWithGrace from 'close-with-grace';
import { Command } from 'commander';
import { pino } from 'pino';
import { type Config, loadConfig } from '../config.ts';
import { messageOf } from '../errors.ts';
import { visibleLog } from '../visible.ts';
import { loadHandlers } from './load-handlers.ts';
import { start } from './start.ts';

/** What stopping takes beside the handlers' grace: aborted handlers, open connections, the last commit. */
const CLOSING_MS = 10_000;

export function serveCommand(): Command {
  return new Command('serve')
    .description('Receive notifications and hand them to src/handlers/ until told to stop (SIGTERM, Ctrl-C).')
    .action(() => serve(loadConfig()));
}

async function serve(config: Config): Promise<void> {
  const log = pino({ level: config.LOG_LEVEL, ...visibleLog });
  const service = await start({ config, handlers: await loadHandlers(), log });
  log.info({ host: config.HOST, port: service.port, path: config.WEBHOOK_PATH }, 'receiving');
  closeWithGrace({ delay: config.SHUTDOWN_GRACE_MS + CLOSING_MS, logger: false }, async ({ signal, err }) => {
    if (err) {
      // What runs keeps its lease and the attempt that it used: put back as if unused, an event that crashes its
      // process would do so without end.
      log.fatal({ error: messageOf(err), stack: err.stack }, 'crashed; what was acknowledged is on disk');
      return;
    }
    log.info({ signal }, 'stopping');
    try {
      await service.stop();
    } catch (error) {
      log.fatal({ error: messageOf(error) }, 'did not stop in order; what was acknowledged is on disk');
      throw error;
    }
    log.info('stopped');
  });
}
