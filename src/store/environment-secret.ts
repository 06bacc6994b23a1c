import type { EventStore } from './event-store.ts';

const NONE: readonly string[] = [];

/**
 * WEBHOOK_SECRET, and the webhooks that it serves: those that never had a stored secret. A webhook whose secret was retired,
 * removed or damaged must not become verifiable by another one. Who verifies, admits, signs or shows asks here.
 */
export class EnvironmentSecret {
  /** undefined if WEBHOOK_SECRET is not set */
  readonly secret: string | undefined;
  readonly #own: ReadonlySet<string>;

  /** @param own the webhooks that ever had a stored secret */
  constructor(secret: string | undefined, own: Iterable<string> = []) {
    this.secret = secret;
    this.#own = new Set(own);
  }

  /** Reads from the store which webhooks it does not serve. Read it before the secrets: then no new one is missed. */
  static async read(
    store: Pick<EventStore, 'webhooksWithOwnSecret'>,
    { WEBHOOK_SECRET: secret }: { readonly WEBHOOK_SECRET?: string | undefined },
  ): Promise<EnvironmentSecret> {
    return new EnvironmentSecret(secret, await EnvironmentSecret.readOwn(store, secret));
  }

  /** The webhooks that it does not serve; the same list as long as the store gives the same one, and none where it is not set. */
  static async readOwn(
    store: Pick<EventStore, 'webhooksWithOwnSecret'>,
    secret: string | undefined,
  ): Promise<readonly string[]> {
    return secret === undefined ? NONE : store.webhooksWithOwnSecret();
  }

  /** Whether a webhook ever had a stored secret, if that was read. */
  hadOwn(webhookId: string): boolean {
    return this.#own.has(webhookId);
  }

  /** Whether it verifies notifications of a webhook. */
  serves(webhookId: string): boolean {
    return this.secret !== undefined && !this.#own.has(webhookId);
  }
}
