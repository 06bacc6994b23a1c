import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { pause, systemClock } from '../base/clock.ts';
import { loadTrialConfig } from '../config.ts';
import { type DevStage, setDevStage } from '../dev/stage.ts';
import { defineHandlers, type Handlers } from '../dispatch/handler.ts';
import { handlers } from './handlers.ts';

export const SITE = 'demoSite';

/** A mock provider and a receiver that talk to each other over loopback, on a database that goes when they close. */
export interface Stage extends DevStage {
  /** Resolves once everything sent was answered and everything recorded has come to its end. */
  settled(): Promise<void>;
}

/** @throws KitError LISTEN_FAILED if a port is taken; then nothing is left of it */
export async function setStage(): Promise<Stage> {
  await using ends = new AsyncDisposableStack();
  const remove = (path: string) => rmSync(path, { recursive: true, force: true });
  const directory = ends.adopt(mkdtempSync(join(tmpdir(), 'hookkit-demo-')), remove);
  const config = loadTrialConfig(['PORT', 'ADMIN_PORT', 'MOCK_PORT'], {
    HOST: '127.0.0.1',
    PORT: '0',
    MOCK_PORT: '0',
    DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
    RETRY_BASE_MS: '200',
    DRAIN_MS: '0',
  });
  const log = pino({ level: 'silent' });
  const app = { handlers: withStumble() };
  const stage = await setDevStage({ config, app, log, site: SITE, processingMs: 300 });
  ends.defer(stage.stop);
  const kept = ends.move();
  return {
    ...stage,
    async settled() {
      await stage.mock.settled();
      for (;;) {
        const { pending, running } = await stage.service.store.overview();
        if (pending + running === 0) return;
        await pause(systemClock, 10);
      }
    },
    stop: () => kept.disposeAsync(),
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
