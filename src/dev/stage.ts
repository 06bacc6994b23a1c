import { type Clock, systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Config } from '../config.ts';
import type { ReadyApp } from '../dispatch/open-app.ts';
import { type CreatedWebhook, MockProvider, smallLife } from '../mock/index.ts';
import { kindNames } from '../notification/kinds.ts';
import type { Service } from '../service.ts';
import { start } from '../start.ts';

/** The site of the mock whose notifications come here. */
export const SITE = 'devSite1';

export interface DevOptions {
  /** with the addresses and the database of a developer */
  readonly config: Config;
  readonly app: ReadyApp;
  readonly output: Pick<Log, 'log' | 'dropped'>;
  /** lets the mock live; with a seed, the same things happen in the same order */
  readonly life?: { readonly seed: number | undefined } | undefined;
}

/** A receiver with a mock provider that sends to it. */
export interface DevStage {
  readonly mock: MockProvider;
  readonly service: Service;
  readonly webhook: CreatedWebhook;
  stop(): Promise<void>;
}

/** @throws KitError LISTEN_FAILED if a port is taken, and as `start`; then nothing is left of it */
export async function setDevStage({ config, app, output, life }: DevOptions): Promise<DevStage> {
  const clock: Clock = systemClock;
  const mock = await MockProvider.start({ port: config.MOCK_PORT });
  const service = await start({
    config,
    app,
    log: output.log,
    droppedLogLines: output.dropped,
    threads: false, // a developer waits for the start, and nobody for an ack
  }).catch(async (error) => {
    await mock.close();
    throw error;
  });
  // Each of these ends, whatever becomes of the others, the last first.
  await using ends = new AsyncDisposableStack();
  ends.defer(() => service.stop());
  ends.defer(() => mock.close());
  const webhook = mock.createWebhook({
    name: 'dev',
    webhook_url: `http://127.0.0.1:${service.port}${config.WEBHOOK_PATH}`,
    events: [...kindNames],
    site_ids: [SITE],
  });
  await service.store.addSecret(webhook.id, webhook.secret);
  // The next start has a webhook of its own.
  ends.defer(async () => {
    await service.store.retireSecret(webhook.id, webhook.secret, clock.now());
  });
  if (life) ends.defer(smallLife({ mock, site: SITE, clock, seed: life.seed }));
  const kept = ends.move();
  return { mock, service, webhook, stop: () => kept.disposeAsync() };
}
