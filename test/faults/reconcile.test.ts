import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import type { DefinedApp } from '../../src/index.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { reconcileOnce } from '../../src/reconcile/index.ts';
import { testDatabase } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { only, present } from '../support/only.ts';
import { runService } from '../support/running-service.ts';
import { imported, snippetsOf } from '../support/snippets.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const COUNT = 5000;
const AT_ONCE = 100;

test.each(['sqlite', 'postgres'] as const)(
  `the app of docs/reconcile.md recovers all that was dropped of ${COUNT} deliveries, none of it twice, on %s`,
  async (engine) => {
    const directory = await temporaryDirectory();
    symlinkSync(new URL('../../node_modules', import.meta.url), join(directory, 'node_modules'));
    const snippet = only(snippetsOf('docs/reconcile.md'));
    const { app } = await imported<{ app: DefinedApp }>(snippet, directory);
    const mock = await MockProvider.start({ port: 0, rateLimit: 1e6, processingMs: 40, maxAttempts: 1 });
    const database = await testDatabase(directory, engine);
    const service = await runService(app.handlers, database.env, { threads: true });
    const { store, log } = service;
    const webhook = { name: 'test', webhook_url: `${service.url}/webhooks/media`, site_ids: ['site'] };
    const { id, secret } = mock.createWebhook({ ...webhook, events: ['media_available'] });
    await store.secrets.add(id, secret);
    mock.setFaults({ drop: 0.1 });
    for (let n = 1; n <= COUNT; n++) {
      mock.createMedia({ site_id: 'site' });
      if (n % AT_ONCE === 0) await mock.settled();
    }
    const dropped = mock.deliveries({ state: 'dropped' }).length;
    const handled = () => log.withMessage('available');
    const settled = () =>
      eventually('all is handled', async () => (await store.reports.overview()).pending === 0);
    const pass = async () => {
      const settings = { API_URL: mock.url, API_SECRET: mock.apiSecret, SITE_ID: 'site' };
      const clock = { ...systemClock, now: () => systemClock.now() + 3_600_000 };
      const { signal } = new AbortController();
      const done = await reconcileOnce(present(app.reconcile), settings, {
        ...service,
        log: log.log,
        clock,
        signal,
      });
      await settled();
      return done;
    };
    await settled();
    expect([handled().length, dropped > COUNT / 20]).toEqual([COUNT - dropped, true]);
    const missing = { media_available: dropped };
    expect(await pass()).toMatchObject({ expected: COUNT, missing, isRecorded: true });
    const media = handled().filter(({ origin }) => origin === 'reconciled');
    expect([media.length, handled().length]).toEqual([dropped, COUNT]);
    expect(new Set(handled().map((line) => line.media)).size).toBe(COUNT);
    expect((await pass()).missing).toEqual({});
    expect(handled()).toHaveLength(COUNT);
    await service.stop();
    await mock.close();
    await database.remove();
  },
);
