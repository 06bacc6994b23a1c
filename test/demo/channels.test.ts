import { describe, expect, test } from '@jest/globals';
import { handlers } from '../../src/demo/handlers.ts';
import { handlersAtWork } from '../support/handlers-at-work.ts';

const work = handlersAtWork();

/** Records a state of a channel, so many minutes past three. */
function state(event: 'channel_active' | 'channel_idle', minute: string, channel_id = 'c1') {
  const event_time = `2024-08-29T03:${minute}:00+00:00`;
  return work().record({ event, media_id: undefined, channel_id, event_time });
}

/** The states that were shown, in order. */
function shown(): string[] {
  return work().log.lines.flatMap((line) => (JSON.parse(line) as { state?: string }).state ?? []);
}

describe('a channel', () => {
  test('keeps its newer state, when the older one comes in late, which ends as skipped', async () => {
    const { runAll, event } = work();
    const idle = await state('channel_idle', '05');
    await runAll(handlers);
    const active = await state('channel_active', '00');
    await runAll(handlers);
    expect((await event(idle)).status).toBe('handled');
    expect(await event(active)).toMatchObject({
      status: 'skipped',
      lastError: 'a newer state of channel c1 is known',
    });
    expect(shown()).toEqual(['idle']);
  });

  test('takes both states, when they wait together, in the order in which they happened', async () => {
    await state('channel_idle', '05');
    await state('channel_active', '00');
    await work().runAll(handlers);
    expect(shown()).toEqual(['active', 'idle']);
  });

  test('takes its state, when a newer one of another channel is known, as its own', async () => {
    const { runAll, event } = work();
    await state('channel_idle', '05', 'c1');
    await runAll(handlers);
    const other = await state('channel_active', '00', 'c2');
    await runAll(handlers);
    expect((await event(other)).status).toBe('handled');
  });

  test('keeps its newer state, when the late one is replayed alone, which is skipped again', async () => {
    const { runAll, event, store } = work();
    await state('channel_idle', '05');
    await runAll(handlers);
    const active = await state('channel_active', '00');
    await runAll(handlers);
    await store.replay({ ids: [active] });
    await runAll(handlers);
    expect(await event(active)).toMatchObject({ status: 'skipped', replays: 1 });
    expect(shown()).toEqual(['idle']);
  });

  test('ends in its newest state, when all of its events are replayed', async () => {
    const { runAll, store } = work();
    for (const minute of ['09', '05', '01']) {
      await state(minute === '05' ? 'channel_active' : 'channel_idle', minute);
      await runAll(handlers);
    }
    await store.replay({});
    await runAll(handlers);
    expect(shown().at(-1)).toBe('idle');
    expect(await store.count({ status: 'pending' })).toBe(0);
  });
});
