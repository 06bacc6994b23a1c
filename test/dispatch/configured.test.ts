import { hostname } from 'node:os';
import { afterEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { instanceNameOf, parseConfig } from '../../src/config.ts';
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

/** Has one event handled under a configuration; tells what the handler found as `ctx.statuses`, and which instance ran it. */
async function handledUnder(env: Record<string, string>) {
  const { store } = current();
  let statuses: unknown;
  const dispatcher = configuredDispatcher(parseConfig(env), {
    store,
    handlers: defineHandlers({
      async media_available(_, ctx) {
        statuses = await ctx.statuses?.schedule({ status: 'Out now' }, '2026-03-01T12:00:00Z');
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
  const instances = (await store.attempts(id)).map(({ instance }) => instance);
  return { statuses, instances };
}

test('gives handlers the scheduled statuses API, when its address and token are configured', async () => {
  const { url } = await startStatuses();
  const { statuses } = await handledUnder({ STATUSES_BASE_URL: url, STATUSES_TOKEN: 'alice-rw' });
  expect(statuses).toMatchObject({ params: { text: 'Out now' }, scheduled_at: '2026-03-01T12:00:00.000Z' });
});

test('gives them none without', async () => {
  expect((await handledUnder({})).statuses).toBeUndefined();
});

test('names its instance in each attempt, when INSTANCE_NAME is set, as it says', async () => {
  expect((await handledUnder({ INSTANCE_NAME: 'receiver-1' })).instances).toEqual(['receiver-1']);
});

test('names its instance, when INSTANCE_NAME is not set, after the host, and the same in one process', async () => {
  const [first] = (await handledUnder({})).instances;
  expect(first?.replace(/-[0-9a-f]{8}$/, '')).toBe(
    hostname()
      .replaceAll(/[^\w.-]/g, '-')
      .slice(0, 80),
  );
  expect(parseConfig({ INSTANCE_NAME: first })).toMatchObject({ INSTANCE_NAME: first });
  expect(instanceNameOf({})).toBe(first);
});
