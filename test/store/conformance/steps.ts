import { describe, expect, test } from '@jest/globals';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { verified } from '../../support/verified-notification.ts';

export function describeSteps(fixture: CurrentFixture): void {
  describe('steps', () => {
    test('are unknown, when they were not done', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      expect(await store.step(id, 'announce')).toBeUndefined();
    });

    test.each(['{"text":"\u{1f3ac} \' \\""}', 'null', '""', null])(
      'give back their result, when it was %j, in every instance',
      async (result) => {
        const { store, open } = fixture();
        const { id } = await store.record(verified());
        await store.saveStep(id, 'announce', result);
        expect(await store.step(id, 'announce')).toEqual({ result });
        expect(await (await open()).step(id, 'announce')).toEqual({ result });
      },
    );

    test('keep the first result, when a second is saved under the same name', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      await store.saveStep(id, 'announce', '1');
      await store.saveStep(id, 'announce', '2');
      expect(await store.step(id, 'announce')).toEqual({ result: '1' });
    });

    test('are told apart, when the name or the event differs', async () => {
      const { store } = fixture();
      const first = await store.record(verified());
      const second = await store.record(verified({ media_id: 'other' }));
      await store.saveStep(first.id, 'announce', '1');
      expect(await store.step(first.id, 'Announce')).toBeUndefined();
      expect(await store.step(second.id, 'announce')).toBeUndefined();
    });
  });
}
