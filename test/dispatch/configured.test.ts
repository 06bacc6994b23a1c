import { afterEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { configuredDispatcher } from '../../src/dispatch/configured.ts';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { closeAll, startStatuses } from '../provider/support.ts';
import { eventually } from '../support/eventually.ts';
import { logLines } from '../support/log-lines.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { eachWithStore } from '../support/store-fixture.ts';
import { verified } from '../support/verified-notification.ts';

const current = eachWithStore(sqliteFixture());
afterEach(closeAll);

/** Has one event handled under a configuration; tells what the handler found as `ctx.statuses`. */
async function statusesUnder(env: Record<string, string>): Promise<unknown> {
  const { store } = current();
  let found: unknown;
  const dispatcher = configuredDispatcher(parseConfig(env), {
    store,
    handlers: defineHandlers({
      async media_available(_, { statuses }) {
        found = await statuses?.schedule({ status: 'Out now' }, '2026-03-01T12:00:00Z');
      },
    }),
    clock: systemClock,
    log: logLines().log,
    random: Math.random,
  });
  const { id } = await store.record(verified());
  dispatcher.start();
  await eventually('it is handled', async () => (await store.event(id))?.status === 'handled');
  await dispatcher.stop(1000);
  return found;
}

test('gives handlers the scheduled statuses API, when its address and token are configured', async () => {
  const { url } = await startStatuses();
  const found = await statusesUnder({ STATUSES_BASE_URL: url, STATUSES_TOKEN: 'alice-rw' });
  expect(found).toMatchObject({ params: { text: 'Out now' }, scheduled_at: '2026-03-01T12:00:00.000Z' });
});

test('gives them none without', async () => {
  expect(await statusesUnder({})).toBeUndefined();
});
