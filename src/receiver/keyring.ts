import type { KeyObject } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { keyOf } from '../notification/token.ts';
import { EnvironmentSecret } from '../store/environment-secret.ts';
import type { EventStore, WebhookSecret } from '../store/event-store.ts';
import { isPredictable, isReachable } from '../store/predictable-secrets.ts';

/** How soon a secret that another process stored or retired is noticed, if no request asks for it. */
const POLL_MS = 1000;
/** How often the store is read at most, however many requests fail to verify. */
const GAP_MS = 50;

interface Held {
  readonly key: KeyObject;
  readonly retireAt: number | undefined;
}

export interface KeyringOptions {
  readonly store: Pick<EventStore, 'secrets' | 'webhooksWithOwnSecret'>;
  readonly clock: Clock;
  /** WEBHOOK_SECRET: serves every webhook that never had a stored secret */
  readonly fallback: string | undefined;
  /** whether a secret protects nothing here, as others can compute it: it counts as absent */
  readonly isWorthless?: ((secret: string) => boolean) | undefined;
}

/** The secrets by which a service with this configuration verifies, beside those that are stored; and which of all protect nothing. */
export function keysBy(
  config: { readonly WEBHOOK_SECRET?: string | undefined } & Parameters<typeof isReachable>[0],
): Pick<KeyringOptions, 'fallback' | 'isWorthless'> {
  return { fallback: config.WEBHOOK_SECRET, isWorthless: isReachable(config) ? isPredictable : undefined };
}

/** The live keys of every webhook, in memory, kept in step with the store. */
export class Keyring {
  readonly #store: KeyringOptions['store'];
  readonly #clock: Clock;
  readonly #secret: string | undefined;
  readonly #isWorthless: (secret: string) => boolean;
  readonly #fallback: readonly KeyObject[];
  /** serves no webhook before the first read */
  #environment = new EnvironmentSecret(undefined);
  #held: ReadonlyMap<string, ReadonlyMap<string, Held>> = new Map();
  /** what was read last: the webhooks that ever had a secret, and the secrets */
  #own: readonly string[] | undefined;
  #stored: readonly WebhookSecret[] | undefined;
  #mostKeys = 1;
  #lastRead = Number.NEGATIVE_INFINITY;
  #next: Promise<void> | undefined;
  #underWay: Promise<void> = Promise.resolve();
  #stopPolling = () => {};
  #stopped = false;

  /** Called with webhooks whose notifications in quarantine may verify now: above all after a read found new secrets. */
  onAdded: (webhooks: readonly string[]) => void = () => {};

  constructor({ store, clock, fallback, isWorthless = () => false }: KeyringOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#secret = fallback;
    this.#isWorthless = isWorthless;
    this.#fallback = fallback === undefined || isWorthless(fallback) ? [] : [keyOf(fallback)];
  }

  /** Reads all secrets, and from then on again every second. */
  async start(): Promise<void> {
    await this.refresh();
    this.#poll();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopPolling();
  }

  /** Tells of a webhook whose notification came into quarantine after its secret was found. */
  announce(webhookId: string): void {
    this.onAdded([webhookId]);
  }

  /** The keys that verify a webhook's notifications now. */
  keysFor(webhookId: string): readonly KeyObject[] {
    const live = this.#liveKeysOf(webhookId);
    return live.length === 0 && this.#environment.serves(webhookId) ? this.#fallback : live;
  }

  /** Every key that verifies anything now; undefined if there are more than so many, which are not tried. */
  everyKey(most: number): readonly KeyObject[] | undefined {
    const every = [...this.#fallback];
    for (const webhookId of this.#held.keys()) {
      every.push(...this.#liveKeysOf(webhookId));
      if (every.length > most) return undefined;
    }
    return every;
  }

  /** The most keys that any webhook has. Work for so many keys takes the same time for all webhooks, so it reveals nothing. */
  get mostKeys(): number {
    return this.#mostKeys;
  }

  #liveKeysOf(webhookId: string): readonly KeyObject[] {
    const now = this.#clock.now();
    const held = [...(this.#held.get(webhookId)?.values() ?? [])];
    const live = held.filter(({ retireAt }) => retireAt === undefined || retireAt > now);
    return live.map(({ key }) => key);
  }

  /**
   * Resolves after a read of the store that began after this call, so every secret stored before this call is held.
   * All calls before that read begins share it.
   */
  refresh(): Promise<void> {
    this.#next ??= Promise.all([this.#underWay.catch(() => {}), this.#gap()]).then(() => {
      this.#next = undefined;
      this.#underWay = this.#read();
      return this.#underWay;
    });
    return this.#next;
  }

  #gap(): Promise<void> {
    // Not longer than the gap, even if the time of day went back meanwhile.
    const wait = Math.min(GAP_MS, this.#lastRead + GAP_MS - this.#clock.now());
    return wait > 0 ? new Promise((resolve) => this.#clock.after(wait, resolve)) : Promise.resolve();
  }

  async #read(): Promise<void> {
    this.#lastRead = this.#clock.now();
    // Asked for in this order and answered in it, with one wait: every refusal waits for this.
    const [own, stored] = await Promise.all([
      EnvironmentSecret.readOwn(this.#store, this.#secret),
      this.#store.secrets(),
    ]);
    if (own === this.#own && stored === this.#stored) return; // as mostly, since refusals of strangers cause reads
    this.#own = own;
    this.#stored = stored;
    const before = this.#held;
    const held = new Map<string, Map<string, Held>>();
    const added = new Set<string>();
    for (const { webhookId, secret, retireAt } of stored) {
      if (secret === '') continue; // every sender could sign with it
      const known = before.get(webhookId)?.get(secret);
      if (known === undefined && this.#isWorthless(secret)) continue;
      if (known === undefined) added.add(webhookId);
      const keys = held.get(webhookId) ?? new Map<string, Held>();
      held.set(webhookId, keys.set(secret, { key: known?.key ?? keyOf(secret), retireAt }));
    }
    this.#held = held;
    this.#environment = new EnvironmentSecret(this.#secret, own);
    this.#mostKeys = Math.max(1, ...[...held.values()].map((keys) => keys.size));
    if (added.size > 0) this.onAdded([...added]);
  }

  #poll(): void {
    if (this.#stopped) return;
    this.#stopPolling = this.#clock.after(POLL_MS, () =>
      this.refresh()
        .catch(() => {}) // the store logs its own errors; the next poll tries again
        .then(() => this.#poll()),
    );
  }
}
