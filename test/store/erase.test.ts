import { expect, test } from '@jest/globals';
import { erase } from '../../src/erasure.ts';
import { erasedName } from '../../src/store/stored.ts';
import { claimedOne, FAILED, HANDLED, notified, polled, recorded } from './desk.ts';
import { onEachEngine } from './stages.ts';

const PRIVATE = 'media:private';

onEachEngine('erasing', (stage) => {
  const erased = (what: Parameters<typeof erase>[1]) =>
    erase(stage.store, what, { clock: stage.clock, onStep: () => {} });

  test('leaves the digest of a media, and nothing of what was stored for it', async () => {
    const { store } = stage;
    const [first, second] = await recorded(
      store,
      notified(PRIVATE, 0, { kind: 'channel_active', request: 'request-private' }),
      notified(PRIVATE, 1),
      notified('media:other'),
    );
    const claim = await claimedOne(store, PRIVATE);
    await store.queue.saveStep({ ...claim, name: 'step', result: '"private"' });
    const left = {
      state: [{ name: 'private', value: '1' }],
      reminders: [{ name: 'later', afterMs: 1, data: '1' }],
    };
    await store.queue.settle(claim, { ...HANDLED, ...left });
    await store.queue.settle(await claimedOne(store, PRIVATE), {
      ...FAILED,
      error: 'private',
      log: 'private',
    });
    expect(await erased({ resource: PRIVATE })).toEqual({
      events: 2,
      quarantined: 0,
      running: 0,
      shared: [],
    });
    for (const [event, status] of [
      [first, 'handled'],
      [second, 'dismissed'],
    ] as const)
      expect(await store.queue.event({ id: event?.id ?? '' })).toMatchObject({
        status,
        resource: erasedName(PRIVATE),
        siteId: '',
        body: undefined,
        lastError: undefined,
        request: undefined,
      });
    for (const table of ["attempts WHERE outcome <> 'interrupted'", 'steps', 'state', 'reminders'])
      expect(await stage.sql(`SELECT * FROM ${table}`)).toEqual([]);
    expect(await stage.sql('SELECT resource FROM lanes')).toEqual([{ resource: 'media:other' }]);
    expect(await store.queue.record(first ?? notified())).toMatchObject({ status: 'duplicate' });
    expect((await polled(store)).map(({ resource }) => resource)).toEqual(['media:other']);
    const looked = { kind: 'media_available', resource: PRIVATE, eventTime: second?.eventTime ?? 0 };
    expect(
      await store.queue.missing({ list: [looked, { ...looked, eventTime: looked.eventTime + 1 }] }),
    ).toEqual([{ at: 1 }]);
  });
});
