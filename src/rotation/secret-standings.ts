import type { EventStore } from '../store/event-store.ts';

/** The secrets that are stored for a webhook. */
export interface Standing {
  /** how many secrets are live without an end */
  readonly live: number;
  /** until when others still verify, milliseconds since the epoch */
  readonly retiring: readonly number[];
}

/** `environment`: nothing is stored, and WEBHOOK_SECRET verifies. */
export type SecretState = 'live' | 'retiring' | 'missing' | 'environment';

const NONE: Standing = { live: 0, retiring: [] };

/** The state of the secrets of each webhook. */
export class Standings {
  readonly #byWebhook: ReadonlyMap<string, Standing>;
  readonly #hasFallback: boolean;

  private constructor(byWebhook: ReadonlyMap<string, Standing>, hasFallback: boolean) {
    this.#byWebhook = byWebhook;
    this.#hasFallback = hasFallback;
  }

  static async read(
    store: EventStore,
    { WEBHOOK_SECRET }: { readonly WEBHOOK_SECRET?: string | undefined },
  ): Promise<Standings> {
    const byWebhook = new Map<string, Standing>();
    for (const { webhookId, retireAt } of await store.secrets()) {
      const { live, retiring } = byWebhook.get(webhookId) ?? NONE;
      const next =
        retireAt === undefined ? { live: live + 1, retiring } : { live, retiring: [...retiring, retireAt] };
      byWebhook.set(webhookId, next);
    }
    return new Standings(byWebhook, WEBHOOK_SECRET !== undefined);
  }

  /** The webhooks for which something is stored. */
  get webhooks(): readonly string[] {
    return [...this.#byWebhook.keys()];
  }

  of(webhookId: string): Standing {
    return this.#byWebhook.get(webhookId) ?? NONE;
  }

  stateOf(webhookId: string): SecretState {
    const { live, retiring } = this.of(webhookId);
    if (live > 0) return 'live';
    if (retiring.length > 0) return 'retiring';
    return this.#hasFallback ? 'environment' : 'missing';
  }
}
