import { describe, expect, test } from '@jest/globals';
import type { Delivery } from '../../../src/mock/index.ts';
import { SITE, useStage } from '../support/stage.ts';

const attempted: Delivery[] = [];
const stage = useStage({ keepDeliveries: 3, onAttempt: (delivery) => attempted.push(delivery) });

describe('the delivery log', () => {
  test('has each attempt with request, answer and duration', async () => {
    stage.receiver.answer = () => ({ status: 503, body: 'x'.repeat(10_000) });
    const { id } = stage.webhook();
    const { channel_id } = stage.mock.createChannel({ site_id: SITE });
    await stage.mock.settled();
    const { text, token } = stage.receiver.received[0] ?? {};
    const at = new Date(stage.mock.now()).toISOString();
    expect(stage.mock.deliveries()).toEqual([
      {
        id: '1',
        webhook_id: id,
        state: 'pending',
        faults: [],
        duplicate_of: null,
        redelivery_of: null,
        created_at: at,
        next_attempt_at: '2026-01-01T00:00:01.000Z',
        notification: {
          event: 'channel_created',
          channel_id,
          webhook_id: id,
          site_id: SITE,
          event_time: '2026-01-01T00:00:00+00:00',
        },
        attempts: [
          {
            number: 1,
            started_at: at,
            duration_ms: 0,
            request: {
              method: 'POST',
              url: stage.receiver.url,
              headers: {
                Authorization: `Bearer ${token}`,
                'Content-Type': 'application/json',
                'Content-Length': String(text?.length),
                'User-Agent': 'webhook-receiver-kit-mock',
              },
              body: text,
            },
            answer: { status: 503, body: 'x'.repeat(4096) },
            error: null,
          },
        ],
      },
    ]);
  });

  test('forgets the oldest, when there are more than it keeps, even if they are still under way', async () => {
    stage.receiver.answer = (number) => ({ status: number === 1 ? 500 : 200 });
    stage.webhook();
    for (let i = 0; i < 4; i++) stage.mock.createChannel({ site_id: SITE });
    await stage.mock.advance(60_000);
    expect(stage.receiver.received).toHaveLength(5);
    expect(stage.mock.deliveries().map(({ id }) => id)).toEqual(['2', '3', '4']);
  });

  test('reports each attempt, when the caller asked for it', async () => {
    attempted.length = 0;
    stage.receiver.answer = (number) => ({ status: number === 1 ? 500 : 200 });
    stage.webhook();
    stage.mock.createChannel({ site_id: SITE });
    await stage.mock.advance(60_000);
    expect(attempted.map(({ state, attempts }) => [state, attempts.length])).toEqual([
      ['pending', 1],
      ['delivered', 2],
    ]);
  });

  test.each([
    [{ event: 'channel_active' }, 1],
    [{ site_id: SITE }, 3],
    [{ site_id: 'jsPxIVHl' }, 0],
    [{ channel_id: 'YijbmYHJ' }, 2],
    [{ media_id: 'MNYaMSQl' }, 1],
    [{ webhook_id: 'another1' }, 0],
    [{ state: 'delivered' as const, event: 'channel_created' }, 1],
    [{ state: 'failed' as const }, 0],
    [{ fault: 'drop' as const }, 0],
  ])('shows, for %j, what matches: %d', async (filter, count) => {
    stage.webhook();
    stage.mock.createChannel({ site_id: SITE, channel_id: 'YijbmYHJ' });
    stage.mock.activateChannel('YijbmYHJ');
    stage.mock.createMedia({ site_id: SITE, media_id: 'MNYaMSQl' });
    await stage.mock.settled();
    expect(stage.mock.deliveries(filter)).toHaveLength(count);
  });
});
