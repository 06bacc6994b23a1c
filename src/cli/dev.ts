import { resolve } from 'node:path';
import closeWithGrace from 'close-with-grace';
import { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { openLog } from '../base/log.ts';
import { type Config, loadConfig } from '../config.ts';
import { handlersFile, loadHandlers } from '../dispatch/load-handlers.ts';
import { guardProcess, UNCAUGHT } from '../dispatch/process-guard.ts';
import { type CreatedWebhook, MockProvider } from '../mock/index.ts';
import { kindNames } from '../notification/kinds.ts';
import type { Service } from '../service.ts';
import { start } from '../start.ts';
import { say } from './print.ts';

const SITE = 'devSite1';

/** Whoever has changed a file waits for the restart: a handler that still runs is aborted soon, and run again by it. */
const LONGEST_GRACE_MS = 1000;
/** What stopping takes beside: the last commit, a handler that does not listen to its signal. */
const CLOSING_MS = 10_000;

export function devCommand(): Command {
  return new Command('dev')
    .description(
      'Serve with the mock provider beside it, its webhook registered: for writing handlers. It listens on loopback alone, ' +
        'whatever HOST and ADMIN_HOST say, and uses DEV_DATABASE_URL in the place of DATABASE_URL.',
    )
    .action(() => dev(devConfig()));
}

/** Nothing of it may touch what the same settings serve elsewhere. */
function devConfig(): Config {
  const config = loadConfig({ HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1' });
  return {
    ...config,
    DATABASE_URL: config.DEV_DATABASE_URL,
    SHUTDOWN_GRACE_MS: Math.min(config.SHUTDOWN_GRACE_MS, LONGEST_GRACE_MS),
  };
}

async function dev(config: Config): Promise<void> {
  const output = openLog(config);
  const { log } = output;
  const guard = guardProcess(log);
  const handlers = await loadHandlers(config);
  const mock = await MockProvider.start({ port: config.MOCK_PORT });
  const service = await start({ config, handlers, log, droppedLogLines: output.dropped }).catch(
    async (error) => {
      await mock.close();
      throw error;
    },
  );
  const webhook = await register(mock, service, config);
  const delay = config.SHUTDOWN_GRACE_MS + CLOSING_MS;
  closeWithGrace({ delay, logger: false, skip: UNCAUGHT }, async () => {
    guard.expectExit();
    await mock.close();
    // The next start has a webhook of its own.
    await service.store.retireSecret(webhook.id, webhook.secret, systemClock.now());
    await service.stop();
    await output.flush();
  });
  say(introduction({ mock, service, webhook, config }));
}

async function register(mock: MockProvider, service: Service, config: Config): Promise<CreatedWebhook> {
  const webhook = mock.createWebhook({
    name: 'dev',
    webhook_url: `http://127.0.0.1:${service.port}${config.WEBHOOK_PATH}`,
    events: [...kindNames],
    site_ids: [SITE],
  });
  await service.store.addSecret(webhook.id, webhook.secret);
  return webhook;
}

interface Running {
  readonly mock: MockProvider;
  readonly service: Service;
  readonly webhook: CreatedWebhook;
  readonly config: Config;
}

/** Where everything is. */
function introduction({ mock, service, webhook, config }: Running): string {
  const url = config.DATABASE_URL;
  return `receiver  ${webhook.metadata.webhook_url}
inspector ${service.adminUrl}
mock      ${mock.url}, with webhook ${webhook.id} for site ${SITE}
database  ${resolve(url.replace(/^sqlite:/, ''))}, for other commands DATABASE_URL=${url}
handlers  ${handlersFile(config)}

Upload a media and watch your handlers:

  curl -X POST ${mock.url}/_mock/media -H 'Content-Type: application/json' -d '{"site_id":"${SITE}"}'
`;
}
