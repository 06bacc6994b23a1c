import { expect, test } from '@jest/globals';
import { MockProvider } from '../../src/mock/index.ts';
import { StatusesClient } from '../../src/provider/index.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { runService } from '../support/running-service.ts';

const database = databaseForEachTest();

test('schedules a status from a handler, when it is retried and replayed, exactly once', async () => {
  const mock = await MockProvider.start({ port: 0 });
  const service = await runService(
    {
      async media_available(event, ctx) {
        const tomorrow = new Date(mock.now() + 86_400_000);
        const status = { status: `${event.media_id} is out` };
        const options = { idempotencyKey: ctx.id, signal: ctx.signal };
        const id = await ctx.once('announce', async () => {
          return (await ctx.statuses?.schedule(status, tomorrow, options))?.id;
        });
        if (ctx.attempt === 1) throw new Error(`failed after scheduling ${id}`);
      },
    },
    { ...database().env, STATUSES_BASE_URL: mock.url, STATUSES_TOKEN: 'alice-rw', RETRY_BASE_MS: '1' },
  );
  await deliver(service.url, bodyOf(1));
  const isHandled = async () => (await service.store.count({ status: 'handled' })) === 1;
  await eventually('it is handled', isHandled);
  await service.store.replay({});
  await eventually('it is handled again', isHandled);
  const statuses = new StatusesClient({ baseUrl: mock.url, token: 'alice-rw' });
  expect((await statuses.page()).statuses.map(({ params }) => params.text)).toEqual(['media1 is out']);
  await mock.close();
});
