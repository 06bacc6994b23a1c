import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { readApp } from '../../src/dispatch/load-handlers.ts';
import type { DefinedApp } from '../../src/index.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { testDatabase } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { only, present } from '../support/only.ts';
import { runService } from '../support/running-service.ts';
import { size } from '../support/sizes.ts';
import { imported, snippetsOf } from '../support/snippets.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const COUNT = size({ small: 5000, full: 20_000 });
/** How many media are uploaded at once. */
const AT_ONCE = 100;
const SITES = ['one', 'two', 'three', 'four'];

// The app of docs/reconcile.md, once for each site of the mock, which drops a tenth of its deliveries.
test.each(['sqlite', 'postgres'] as const)(
  `a tenth of ${COUNT} deliveries is dropped, and all of it is recovered, none of it twice, on %s`,
  async (engine) => {
    const directory = await temporaryDirectory();
    symlinkSync(new URL('../../node_modules', import.meta.url), join(directory, 'node_modules'));
    const snippet = only(snippetsOf('docs/reconcile.md'));
    const { app: documented } = await imported<{ app: DefinedApp }>(snippet, directory);
    await using mock = Object.assign(
      await MockProvider.start({ port: 0, rateLimit: 1e6, processingMs: 40, maxAttempts: 1 }),
      { [Symbol.asyncDispose]: () => mock.close() },
    );
    const { expected } = present(documented.reconcile);
    let isOver = false;
    const app: DefinedApp = {
      ...documented,
      settings: undefined,
      start: () => ({ app: undefined }),
      reconcile: {
        ...{ every: '1s', after: '1s' },
        async *expected(since, ctx) {
          for (const SITE_ID of isOver ? SITES : [])
            yield* expected(since, {
              ...ctx,
              app: { API_URL: mock.url, API_SECRET: mock.apiSecret, SITE_ID },
            });
        },
      },
    };
    const database = await testDatabase(directory, engine);
    const config = { HANDLERS: undefined, readFrom: 'a test' };
    const service = await runService({}, database.env, { app: readApp(app, config), threads: true });
    const { reports } = service.store;
    for (const site of SITES) {
      const { id, secret } = mock.createWebhook({
        ...{ name: site, webhook_url: `${service.url}/webhooks/media` },
        ...{ events: ['media_available'], site_ids: [site] },
      });
      await service.store.secrets.add(id, secret);
    }
    mock.setFaults({ drop: 0.1 });
    for (let n = 0; n < COUNT; n++) {
      mock.createMedia({ site_id: SITES[n % SITES.length] ?? '' });
      if (n % AT_ONCE === AT_ONCE - 1) await mock.settled();
    }
    await mock.settled();
    const dropped = mock.deliveries({ state: 'dropped' }).length;
    const handled = () => service.log.withMessage('available');
    const passedSince = async (at: number) => {
      const whole = async () => ((await reports.lastPass())?.beganAt ?? 0) > at;
      await eventually('a pass is whole, and handled', async () => {
        const { pending } = await reports.overview();
        return (await whole()) && pending === 0;
      });
    };
    await passedSince(0);
    expect(mock.deliveries({ state: 'failed' })).toEqual([]);
    expect([handled().length, dropped > COUNT / 20]).toEqual([COUNT - dropped, true]);
    isOver = true;
    await passedSince(systemClock.now() + 1000);
    const all = handled();
    expect(all).toHaveLength(COUNT);
    expect(new Set(all.map(({ media }) => media)).size).toBe(COUNT);
    expect(all.filter(({ origin }) => origin === 'reconciled')).toHaveLength(dropped);
    await passedSince(systemClock.now());
    expect(await reports.lastPass()).toMatchObject({ expected: COUNT, missing: {}, isRecorded: true });
    expect(handled()).toHaveLength(COUNT);
    await service.stop();
    await database.remove();
  },
);
