import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { systemClock } from '../base/clock.ts';
import { pause } from '../base/pause.ts';
import { loadTrialConfig } from '../config.ts';
import { defineHandlers, type Handlers } from '../dispatch/handler.ts';
import { MockProvider } from '../mock/index.ts';
import { kindNames } from '../notification/kinds.ts';
import type { Service } from '../service.ts';
import { start } from '../start.ts';
import { handlers } from './handlers.ts';

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

/** @throws KitError LISTEN_FAILED if a port is taken; then nothing is left of it */
export async function setStage(): Promise<Stage> {
  const directory = mkdtempSync(join(tmpdir(), 'hookkit-demo-'));
  const removeDirectory = () => rmSync(directory, { recursive: true, force: true });
  try {
    return await setStageIn(directory, removeDirectory);
  } catch (error) {
    removeDirectory();
    throw error;
  }
}

async function setStageIn(directory: string, removeDirectory: () => void): Promise<Stage> {
  const config = loadTrialConfig(['PORT', 'ADMIN_PORT', 'MOCK_PORT'], {
    HOST: '127.0.0.1',
    PORT: '0',
    MOCK_PORT: '0',
    DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
    RETRY_BASE_MS: '200',
    DRAIN_MS: '0',
  });
  const mock = await MockProvider.start({ port: config.MOCK_PORT, processingMs: 300 });
  const log = pino({ level: 'silent' });
  const service = await start({ config, app: { handlers: withStumble() }, log }).catch(async (error) => {
    await mock.close();
    throw error;
  });
  const webhookUrl = `http://127.0.0.1:${service.port}${config.WEBHOOK_PATH}`;
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
      while (await unfinished(service)) await pause(systemClock, 10);
    },
    async close() {
      await mock.close();
      await service.stop();
      removeDirectory();
    },
  };
}

/** The sample handlers, but the first text track's fails twice before it succeeds. */
function withStumble(): Handlers {
  let failures = 0;
  return defineHandlers({
    ...handlers,
    async track_created(event, ctx) {
      if (failures++ < 2) throw new Error('the demo makes this handler fail twice');
      return handlers.track_created?.(event, ctx);
    },
  });
}

async function unfinished({ store }: Service): Promise<boolean> {
  const { pending, running } = await store.overview();
  return pending + running > 0;
}
