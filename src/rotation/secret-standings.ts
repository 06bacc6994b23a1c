import { EnvironmentSecret } from '../store/environment-secret.ts';
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

/** The state of the secrets of each webhook. */
export class Standings {
  readonly #byWebhook: ReadonlyMap<string, Standing>;
  readonly #environment: EnvironmentSecret;

  private constructor(byWebhook: ReadonlyMap<string, Standing>, environment: EnvironmentSecret) {
    this.#byWebhook = byWebhook;
    this.#environment = environment;
  }

  static async read(
    store: EventStore,
    config: { readonly WEBHOOK_SECRET?: string | undefined },
  ): Promise<Standings> {
    const own = await store.webhooksWithOwnSecret();
    const byWebhook = new Map<string, Standing>();
    for (const { webhookId, retireAt } of await store.secrets()) {
      const { live, retiring } = byWebhook.get(webhookId) ?? NONE;
      const next =
        retireAt === undefined ? { live: live + 1, retiring } : { live, retiring: [...retiring, retireAt] };
      byWebhook.set(webhookId, next);
    }
    return new Standings(byWebhook, new EnvironmentSecret(config.WEBHOOK_SECRET, own));
  }

  /** Where there is no database yet. */
  static none(config: { readonly WEBHOOK_SECRET?: string | undefined }): Standings {
    return new Standings(new Map(), new EnvironmentSecret(config.WEBHOOK_SECRET));
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
    return this.#environment.hadOwn(webhookId);
  }

  stateOf(webhookId: string): SecretState {
    const { live, retiring } = this.of(webhookId);
    if (live > 0) return 'live';
    if (retiring.length > 0) return 'retiring';
    return this.#environment.serves(webhookId) ? 'environment' : 'missing';
  }
}
