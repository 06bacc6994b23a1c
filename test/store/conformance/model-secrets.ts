import { expect } from '@jest/globals';
import type { EventStore } from '../../../src/store/event-store.ts';

export type SecretOperation =
  | { readonly do: 'add secret'; readonly webhook: number; readonly secret: number }
  | {
      readonly do: 'retire secret';
      readonly webhook: number;
      readonly secret: number;
      readonly after: number;
    };

interface ModelSecret {
  readonly webhookId: string;
  readonly secret: string;
  readonly createdAt: number;
  readonly retireAt: number | undefined;
}

/** The secrets of webhooks, as the model knows them: no seals, no rows. */
export class ModelSecrets {
  readonly #secrets = new Map<string, ModelSecret>();

  async step(store: EventStore, operation: SecretOperation, now: number): Promise<void> {
    const [webhookId, secret] = [`webhook-${operation.webhook}`, `secret-${operation.secret}`];
    const key = `${webhookId} ${secret}`;
    const known = this.#secrets.get(key);
    if (operation.do === 'add secret') {
      await store.addSecret(webhookId, secret);
      const createdAt = known?.createdAt ?? now;
      this.#secrets.set(key, { webhookId, secret, createdAt, retireAt: undefined });
    } else {
      const retireAt = now + operation.after;
      expect(await store.retireSecret(webhookId, secret, retireAt)).toBe(known !== undefined);
      if (known) this.#secrets.set(key, { ...known, retireAt });
    }
  }

  /** Every instance knows the live secrets, the oldest first, and the webhooks that ever had one. */
  async compare(stores: readonly EventStore[], now: number): Promise<void> {
    const all = [...this.#secrets.values()];
    const live = all.filter(({ retireAt = Infinity }) => retireAt > now);
    for (const store of stores) {
      const stored = await store.secrets();
      const times = stored.map(({ createdAt }) => createdAt);
      expect(times).toEqual(times.toSorted((one, other) => one - other));
      expect(stored.toSorted(byName)).toEqual(live.toSorted(byName));
      const webhooks = new Set(all.map(({ webhookId }) => webhookId));
      expect(await store.webhooksWithOwnSecret()).toEqual([...webhooks].sort());
    }
  }
}

function byName(one: ModelSecret, other: ModelSecret): number {
  return `${one.webhookId} ${one.secret}` < `${other.webhookId} ${other.secret}` ? -1 : 1;
}
