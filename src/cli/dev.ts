import closeWithGrace from 'close-with-grace';
import { Command } from 'commander';
import { type Config, loadConfig } from '../config.ts';
import { openLog } from '../log.ts';
import { MockProvider } from '../mock/index.ts';
import { kindNames } from '../notification/kinds.ts';
import { loadHandlers } from './load-handlers.ts';
import { say } from './print.ts';
import { start } from './start.ts';
import { guardProcess, UNCAUGHT } from './uncaught.ts';

const SITE = 'devSite1';

export function devCommand(): Command {
  return new Command('dev')
    .description('Serve with the mock provider beside it, its webhook registered: for writing handlers.')
    .action(() => dev(loadConfig()));
}

async function dev(config: Config): Promise<void> {
  const output = openLog(config);
  const { log } = output;
  const guard = guardProcess(log);
  const service = await start({
    config,
    handlers: await loadHandlers(),
    log,
    droppedLogLines: output.dropped,
  });
  const mock = await MockProvider.start({ port: config.MOCK_PORT });
  const webhook = mock.createWebhook({
    name: 'dev',
    webhook_url: `http://127.0.0.1:${service.port}${config.WEBHOOK_PATH}`,
    events: [...kindNames],
    site_ids: [SITE],
  });
  await service.store.addSecret(webhook.id, webhook.secret);
  closeWithGrace({ delay: config.SHUTDOWN_GRACE_MS + 5000, logger: false, skip: UNCAUGHT }, async () => {
    guard.expectExit();
    await mock.close();
    await service.stop();
    await output.flush();
  });
  say(
    `receiver  ${webhook.metadata.webhook_url}\n` +
      (service.adminUrl ? `inspector ${service.adminUrl}\n` : '') +
      `mock      ${mock.url}, with a webhook for site ${SITE}. Upload a media and watch your handlers:\n\n` +
      `  curl -X POST ${mock.url}/_mock/media -H 'Content-Type: application/json' -d '{"site_id":"${SITE}"}'\n`,
  );
}
