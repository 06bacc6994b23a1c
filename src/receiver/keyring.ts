import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import { type Clock, repeat } from '../base/clock.ts';
import { isSeededInPublic } from '../base/seeded-random.ts';
import type { Config } from '../config.ts';
import { keyOf } from '../notification/token.ts';
import type { Secrets, WebhookSecret } from '../store/event-store.ts';

/** How soon the keyring notices a secret that another process stored or retired, if no request needs it earlier. */
const POLL_MS = 1000;
/** The pause between two reads: however many requests fail to verify, the store is read 20 times a second at most. */
const GAP_MS = 50;

type Held = Pick<WebhookSecret, 'secret' | 'retireAt'> & { readonly key: KeyObject };

export type KeyringConfig = Pick<Config, 'WEBHOOK_SECRET' | 'HOST' | 'TRUST_PROXY'>;

interface KeyringOptions {
  readonly store: { readonly secrets: Pick<Secrets, 'all'> };
  readonly clock: Clock;
  readonly log: Pick<Logger, 'error'>;
  /** WEBHOOK_SECRET verifies for every webhook that never had a stored secret */
  readonly config: KeyringConfig;
}

/** The live keys of every webhook, in memory, kept in step with the store. */
export class Keyring {
  readonly #options: KeyringOptions;
  /** the key of WEBHOOK_SECRET, if it is set */
  readonly #fallback: readonly KeyObject[];
  /** stored secrets by webhook; an empty list if all secrets of a webhook are retired */
  #held: ReadonlyMap<string, readonly Held[]> = new Map();
  /** secrets of which the log has said that they verify nothing */
  readonly #refused = new Set<string>();
  /** a read that has not begun yet */
  #next: Promise<void> | undefined;
  #rest = Promise.resolve();
  #onAdded: (webhooks: readonly string[]) => void = () => {};

  constructor(options: KeyringOptions) {
    this.#options = options;
    const { WEBHOOK_SECRET: secret } = options.config;
    const serves = secret !== undefined && this.#serves({ setting: 'WEBHOOK_SECRET' }, secret);
    this.#fallback = serves ? [keyOf(secret)] : [];
  }

  /**
   * Reads all secrets, and from then on again every second.
   * @param onAdded told of the webhooks of which a later read finds new secrets
   * @returns a function that ends it
   */
  async start(onAdded: (webhooks: readonly string[]) => void): Promise<() => void> {
    await this.refresh();
    this.#onAdded = onAdded;
    const next = () => POLL_MS; // after an error, too: the log of refused requests says what is wrong
    return repeat(this.#options.clock, POLL_MS, () => this.refresh().then(next, next));
  }

  /** The keys that verify a webhook's notifications now. */
  keysFor(webhookId: string): readonly KeyObject[] {
    const held = this.#held.get(webhookId);
    if (!held) return this.#fallback;
    const now = this.#options.clock.now();
    return held.filter(({ retireAt = Number.POSITIVE_INFINITY }) => retireAt > now).map(({ key }) => key);
  }

  /** The webhooks that have a key. With WEBHOOK_SECRET it is one undefined, which stands for any webhook. */
  webhooks(): readonly (string | undefined)[] {
    if (this.#fallback.length > 0) return [undefined];
    return [...this.#held.keys()].filter((webhook) => this.keysFor(webhook).length > 0);
  }

  /** Reads the secrets again, in a read that begins after this call. All calls before that beginning share the read. */
  refresh(): Promise<void> {
    this.#next ??= this.#rest.then(() => {
      this.#next = undefined;
      const read = this.#read();
      const rest = () => new Promise<void>((resolve) => void this.#options.clock.after(GAP_MS, resolve));
      this.#rest = read.then(rest, rest);
      return read;
    });
    return this.#next;
  }

  async #read(): Promise<void> {
    const { clock, store } = this.#options;
    const now = clock.now();
    const held = new Map<string, Held[]>();
    const added = new Set<string>();
    for (const { webhookId, secret, retireAt } of await store.secrets.all()) {
      const keys = held.get(webhookId) ?? [];
      held.set(webhookId, keys);
      const isRetired = retireAt !== undefined && retireAt <= now;
      if (isRetired || secret === '' || !this.#serves({ webhook: webhookId }, secret)) continue;
      const known = this.#held.get(webhookId)?.find((one) => one.secret === secret);
      if (!known) added.add(webhookId);
      keys.push({ secret, retireAt, key: known?.key ?? keyOf(secret) });
    }
    this.#held = held;
    if (added.size > 0) this.#onAdded([...added]);
  }

  #serves(whose: object, secret: string): boolean {
    const { config, log } = this.#options;
    if (!isSeededInPublic(secret, config)) return true;
    if (!this.#refused.has(secret))
      log.error(whose, 'this secret verifies nothing: it begins with mock-, so anybody can compute it');
    this.#refused.add(secret);
    return false;
  }
}
