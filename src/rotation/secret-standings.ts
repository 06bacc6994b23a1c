import type { EventStore } from '../store/event-store.ts';

/** The secrets that are stored for a webhook. */
export interface Standing {
  /** how many secrets are live without an end */
  readonly live: number;
  /** until when others still verify, milliseconds since the epoch */
  readonly retiring: readonly number[];
}

/** `environment`: WEBHOOK_SECRET verifies, as no secret was ever stored. `missing`: nothing verifies. */
export type SecretState = 'live' | 'retiring' | 'missing' | 'environment';

const NONE: Standing = { live: 0, retiring: [] };

/** WEBHOOK_SECRET serves every webhook that never had a stored secret. */
interface Fallback {
  readonly WEBHOOK_SECRET?: string | undefined;
}

/** The state of the secrets of each webhook. */
export class Standings {
  readonly #byWebhook: ReadonlyMap<string, Standing>;
  readonly #own: ReadonlySet<string>;
  readonly #hasFallback: boolean;

  /** @param own the webhooks that ever had a stored secret */
  private constructor(byWebhook: ReadonlyMap<string, Standing>, own: ReadonlySet<string>, config: Fallback) {
    this.#byWebhook = byWebhook;
    this.#own = own;
    this.#hasFallback = config.WEBHOOK_SECRET !== undefined;
  }

  static async read(store: EventStore, config: Fallback): Promise<Standings> {
    const own = new Set((await store.everySecret()).map(({ webhookId }) => webhookId));
    const byWebhook = new Map<string, Standing>();
    for (const { webhookId, retireAt } of await store.secrets()) {
      const { live, retiring } = byWebhook.get(webhookId) ?? NONE;
      const next =
        retireAt === undefined ? { live: live + 1, retiring } : { live, retiring: [...retiring, retireAt] };
      byWebhook.set(webhookId, next);
    }
    return new Standings(byWebhook, own, config);
  }

  /** Where there is no database yet. */
  static none(config: Fallback): Standings {
    return new Standings(new Map(), new Set(), config);
  }

  /** The webhooks for which something is stored. */
  get webhooks(): readonly string[] {
    return [...this.#byWebhook.keys()];
  }

  of(webhookId: string): Standing {
    return this.#byWebhook.get(webhookId) ?? NONE;
  }

  /** Whether a secret of the webhook was ever stored, live or not. */
  hadOwn(webhookId: string): boolean {
    return this.#own.has(webhookId);
  }

  stateOf(webhookId: string): SecretState {
    const { live, retiring } = this.of(webhookId);
    if (live > 0) return 'live';
    if (retiring.length > 0) return 'retiring';
    return this.#hasFallback && !this.#own.has(webhookId) ? 'environment' : 'missing';
  }
}
