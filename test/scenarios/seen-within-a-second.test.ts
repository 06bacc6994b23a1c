import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { ndjson } from '../support/event-desk.ts';
import { eventually } from '../support/eventually.ts';
import { notification, SECRET } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { runCli } from '../support/run-cli.ts';

const inspect = inspectedForEachTest();

test('a new event is in lists, searches, counts, metrics and the states of channels within a second of its ack, when handlers are busy', async () => {
  const clock = new VirtualClock();
  const busy = Promise.withResolvers<void>();
  let isBusy = false;
  const inspected = await inspect(
    {
      media_available() {
        isBusy = true;
        return busy.promise;
      },
      channel_active() {},
    },
    { WEBHOOK_SECRET: SECRET, DISPATCH_CONCURRENCY: '1' },
    { clock },
  );
  try {
    // From now on the service claims nothing, which would take the next event into work at once.
    await inspected.deliver(notification());
    await eventually('a handler is busy', async () => {
      await clock.advance(10);
      return isBusy;
    });
    await clock.advance(10_000);

    const ack = await inspected.deliver(
      notification({ event: 'channel_active', channel_id: 'YijbmYHJ', media_id: undefined }),
    );
    expect(ack.status).toBe(200);
    const { id } = (await ack.json()) as { readonly id: string };
    await clock.advance(1000);
    // Everything is asked once, and at this time: nothing else happens until the clock goes on.
    const list = await runCli(['events', 'list', '--json', '--kind', 'channel_active'], {
      env: inspected.env,
    });
    expect(ndjson(list.stdout)).toMatchObject([{ id, status: 'pending' }]);
    expect((await inspected.api('/events?status=pending')).events).toMatchObject([{ id }]);
    expect((await inspected.api('/events?resource=channel:YijbmYHJ')).events).toMatchObject([{ id }]);
    expect(await inspected.api(`/events/${id}`)).toMatchObject({ status: 'pending' });
    expect(await inspected.api('/stats')).toMatchObject({ events: { pending: 1, running: 1 } });
    expect((await inspected.api('/channels')).channels).toMatchObject([{ state: 'active', event: id }]);
    const { body: metrics } = await inspected.raw('/metrics');
    expect(metrics).toContain('webhook_events{status="pending"} 1\n');
    expect(metrics).toContain('webhook_notifications_total{result="accepted"} 2\n');
  } finally {
    busy.resolve(); // a stop waits for it
  }
});
