import { describe, expect, test } from '@jest/globals';
import type { CurrentFixture } from '../../support/store-fixture.ts';

export function describeSecrets(fixture: CurrentFixture): void {
  describe('secrets', () => {
    test('are none, when none was stored', async () => {
      expect(await fixture().store.secrets()).toEqual([]);
    });

    test('come back opened, when another instance asks, with webhook and time', async () => {
      const { store, open, clock } = fixture();
      const secret = 'Ünïcode \u{1f511} and "quotes"\n';
      await store.addSecret('webhook-1', secret);
      expect(await (await open()).secrets()).toEqual([
        { webhookId: 'webhook-1', secret, createdAt: clock.now(), retireAt: undefined },
      ]);
    });

    test('are as they are now, when an instance that has read them asks again, whichever instance has changed them', async () => {
      const { store, open, clock } = fixture();
      const all = [store, await open()];
      const seen = async () => {
        const [first, ...others] = await Promise.all(
          all.map(async (one) => [
            (await one.secrets()).map(({ webhookId, secret }) => `${webhookId} ${secret}`),
            await one.webhooksWithOwnSecret(),
          ]),
        );
        for (const other of others) expect(other).toEqual(first);
        return first;
      };
      expect(await seen()).toEqual([[], []]);
      for (const [index, one] of all.entries()) {
        const webhooks = ['webhook-0', 'webhook-1'].slice(0, index + 1);
        await one.addSecret(`webhook-${index}`, 'a');
        expect(await seen()).toEqual([[`webhook-${index} a`], webhooks]);
        await one.retireSecret(`webhook-${index}`, 'a', clock.now());
        expect(await seen()).toEqual([[], webhooks]);
      }
    });

    test('are live side by side, when a webhook has several, oldest first', async () => {
      const { store, clock } = fixture();
      for (const secret of ['c', 'a', 'b']) {
        await store.addSecret('webhook-1', secret);
        await clock.advance(1000);
      }
      expect((await store.secrets()).map(({ secret }) => secret)).toEqual(['c', 'a', 'b']);
    });

    test('are stored once, when the same one is given again, with the first time', async () => {
      const { store, clock } = fixture();
      const createdAt = clock.now();
      await store.addSecret('webhook-1', 'same');
      await clock.advance(1000);
      await store.addSecret('webhook-1', 'same');
      expect(await store.secrets()).toEqual([
        { webhookId: 'webhook-1', secret: 'same', createdAt, retireAt: undefined },
      ]);
    });

    test('are live, when they retire later, until that moment and not from it on', async () => {
      const { store, clock } = fixture();
      await store.addSecret('webhook-1', 'old');
      const retireAt = clock.now() + 60_000;
      expect(await store.retireSecret('webhook-1', 'old', retireAt)).toBe(true);
      await clock.advance(59_999);
      expect(await store.secrets()).toMatchObject([{ secret: 'old', retireAt }]);
      await clock.advance(1);
      expect(await store.secrets()).toEqual([]);
    });

    test('stay live, when another one, or the same one of another webhook, is retired', async () => {
      const { store, clock } = fixture();
      await store.addSecret('webhook-1', 'same');
      await clock.advance(1);
      await store.addSecret('webhook-2', 'same');
      await clock.advance(1);
      await store.addSecret('webhook-2', 'new');
      await store.retireSecret('webhook-2', 'same', clock.now());
      expect((await store.secrets()).map(({ webhookId, secret }) => [webhookId, secret])).toEqual([
        ['webhook-1', 'same'],
        ['webhook-2', 'new'],
      ]);
    });

    test('cannot be retired, when there is no such secret, and nothing changes', async () => {
      const { store, clock } = fixture();
      await store.addSecret('webhook-1', 'one');
      expect(await store.retireSecret('webhook-1', 'other', clock.now())).toBe(false);
      expect(await store.retireSecret('webhook-2', 'one', clock.now())).toBe(false);
      expect(await store.secrets()).toHaveLength(1);
    });

    test('are live again, when a retired one is stored once more', async () => {
      const { store, clock } = fixture();
      await store.addSecret('webhook-1', 'back');
      await store.retireSecret('webhook-1', 'back', clock.now());
      await store.addSecret('webhook-1', 'back');
      expect(await store.secrets()).toMatchObject([{ secret: 'back', retireAt: undefined }]);
    });

    test('are remembered by their webhook, when they are retired, in every instance, and a webhook without one is not', async () => {
      const { store, open, clock } = fixture();
      expect(await store.webhooksWithOwnSecret()).toEqual([]);
      await store.addSecret('webhook-2', 'a');
      await store.addSecret('webhook-1', 'b');
      await store.addSecret('webhook-1', 'c');
      await store.retireSecret('webhook-2', 'a', clock.now());
      await store.retireSecret('webhook-3', 'never stored', clock.now());
      await store.dropUnreadableSecrets();
      const other = await open();
      expect((await other.secrets()).map(({ webhookId }) => webhookId)).toEqual(['webhook-1', 'webhook-1']);
      expect(await other.webhooksWithOwnSecret()).toEqual(['webhook-1', 'webhook-2']);
    });
  });
}
