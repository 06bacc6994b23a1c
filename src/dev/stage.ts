import type { Logger } from 'pino';
import { systemClock } from '../base/clock.ts';
import type { Config } from '../config.ts';
import { wrapApp } from '../dispatch/handler.ts';
import type { ReadyApp } from '../dispatch/open-app.ts';
import { type CreatedWebhook, MockProvider, smallLife } from '../mock/index.ts';
import { kindNames } from '../notification/kinds.ts';
import type { Service } from '../service.ts';
import { start } from '../start.ts';

/** The site of the mock whose notifications come to a developer. */
export const DEV_SITE = 'devSite1';

export interface DevOptions {
  /** with the addresses and the database of a developer */
  readonly config: Config;
  readonly app: ReadyApp;
  readonly log: Logger;
  readonly droppedLogLines?: () => number;
  /** the site of the mock whose notifications come here */
  readonly site: string;
  /** how long an upload is processed; as long as the mock does it by itself where not given */
  readonly processingMs?: number;
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
export async function setDevStage({
  config,
  site,
  life,
  processingMs,
  ...parts
}: DevOptions): Promise<DevStage> {
  // Each of these ends, whatever becomes of the others, the last first.
  await using ends = new AsyncDisposableStack();
  const service = await start({ ...parts, config, isDev: true });
  ends.defer(() => service.stop());
  const mock = await MockProvider.start({
    port: config.MOCK_PORT,
    ...(processingMs !== undefined && { processingMs }),
  });
  ends.defer(() => mock.close());
  const webhook = mock.createWebhook({
    name: site,
    webhook_url: `http://127.0.0.1:${service.port}${config.WEBHOOK_PATH}`,
    events: [...kindNames],
    site_ids: [site],
  });
  await service.store.secrets.add(webhook.id, webhook.secret);
  // The next start has a webhook of its own.
  ends.defer(async () => {
    await service.store.secrets.retire(webhook.id, webhook.secret, systemClock.now());
  });
  if (life) ends.defer(smallLife({ mock, site, clock: systemClock, seed: life.seed }));
  const kept = ends.move();
  return { mock, service, webhook, stop: () => kept.disposeAsync() };
}

/** The same app. The log has a line for what each of them did, behind the handler's own lines, as it has one for what fails. */
export function tellingEnds(app: ReadyApp, log: Logger): ReadyApp {
  return wrapApp(app, (handler, slot) => async (event, ctx) => {
    const began = systemClock.monotonic();
    const outcome = await handler(event, ctx);
    const ms = Math.round(systemClock.monotonic() - began);
    const { webhook_id, site_id, ...members } = event as Record<string, unknown>;
    const ids = Object.keys(members).filter((name) => name.endsWith('_id'));
    const text = `${slot} ${ids.map((name) => members[name]).join(' ')} handled in ${ms} ms`;
    if (outcome === undefined) log.info(text);
    return outcome;
  });
}
