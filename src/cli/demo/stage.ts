import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { parseConfig } from '../../config.ts';
import { defineHandlers, type Handlers } from '../../dispatch/handler.ts';
import { KitError } from '../../errors.ts';
import { MockProvider } from '../../mock/index.ts';
import { kindNames } from '../../notification/kinds.ts';
import type { Service } from '../../service.ts';
import { loadHandlers } from '../load-handlers.ts';
import { start } from '../start.ts';

export const SITE = 'demoSite';

/** A mock provider and a receiver that talk to each other over loopback, on a database that goes when they close. */
export interface Stage {
  readonly mock: MockProvider;
  readonly service: Service;
  readonly webhookUrl: string;
  /** Resolves once everything sent was answered and everything recorded has come to its end. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export async function setStage(): Promise<Stage> {
  const directory = mkdtempSync(join(tmpdir(), 'hookkit-demo-'));
  const environment = {
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
    RETRY_BASE_MS: '200',
  };
  const service = await startInspected(environment);
  const mock = await MockProvider.start({ port: 0, seed: Date.now(), processingMs: 300 });
  const webhookUrl = `http://127.0.0.1:${service.port}${parseConfig(environment).WEBHOOK_PATH}`;
  const { id, secret } = mock.createWebhook({
    name: 'demo',
    webhook_url: webhookUrl,
    events: [...kindNames],
    site_ids: [SITE],
  });
  await service.store.addSecret(id, secret);
  return {
    mock,
    service,
    webhookUrl,
    async settled() {
      await mock.settled();
      while (await unfinished(service)) await new Promise((resolve) => setTimeout(resolve, 10));
    },
    async close() {
      await mock.close();
      await service.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** On the inspector's usual port, or, where something has that already, on any. */
async function startInspected(environment: Readonly<Record<string, string>>): Promise<Service> {
  const handlers = withStumble(await loadHandlers());
  const begin = (more: Readonly<Record<string, string>>) =>
    start({
      config: parseConfig({ ...environment, ...more }),
      handlers,
      log: pino({ level: 'silent' }),
    });
  return begin({}).catch((error) => {
    if (error instanceof KitError && error.code === 'LISTEN_FAILED') return begin({ ADMIN_PORT: '0' });
    throw error;
  });
}

/** The project's own handlers, but the first text track's fails twice before it succeeds. */
function withStumble(real: Handlers): Handlers {
  let failures = 0;
  return defineHandlers({
    ...real,
    async track_created(event, ctx) {
      if (failures++ < 2) throw new Error('the demo makes this handler fail twice');
      return real.track_created?.(event, ctx);
    },
  });
}

async function unfinished({ store }: Service): Promise<boolean> {
  return (await store.count({ status: 'pending' })) + (await store.count({ status: 'running' })) > 0;
}
