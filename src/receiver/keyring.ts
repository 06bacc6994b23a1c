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

export type Keyring = ReturnType<typeof keyringOf>;

/** The live keys of every webhook, in memory, kept in step with the store. */
export function keyringOf({ store, clock, log, config }: KeyringOptions) {
  /** stored secrets by webhook; an empty list if all secrets of a webhook are retired */
  let stored: ReadonlyMap<string, readonly Held[]> = new Map();
  /** secrets of which the log has said that they verify nothing */
  const refused = new Set<string>();
  /** a read that has not begun yet */
  let next: Promise<void> | undefined;
  let rest = Promise.resolve();
  let tellAdded: (webhooks: readonly string[]) => void = () => {};

  const serves = (whose: object, secret: string): boolean => {
    if (!isSeededInPublic(secret, config)) return true;
    if (!refused.has(secret))
      log.error(whose, 'this secret verifies nothing: it begins with mock-, so anybody can compute it');
    refused.add(secret);
    return false;
  };

  const { WEBHOOK_SECRET: secret } = config;
  const hasFallback = secret !== undefined && serves({ setting: 'WEBHOOK_SECRET' }, secret);
  const fallback: readonly KeyObject[] = hasFallback ? [keyOf(secret)] : [];

  const read = async (): Promise<void> => {
    const now = clock.now();
    const found = new Map<string, Held[]>();
    const added = new Set<string>();
    for (const { webhookId, secret, retireAt } of await store.secrets.all()) {
      const keys = found.get(webhookId) ?? [];
      found.set(webhookId, keys);
      const isRetired = retireAt !== undefined && retireAt <= now;
      if (isRetired || secret === '' || !serves({ webhook: webhookId }, secret)) continue;
      const known = stored.get(webhookId)?.find((one) => one.secret === secret);
      if (!known) added.add(webhookId);
      keys.push({ secret, retireAt, key: known?.key ?? keyOf(secret) });
    }
    stored = found;
    if (added.size > 0) tellAdded([...added]);
  };

  /** Reads the secrets again, in a read that begins after this call. All calls before that beginning share the read. */
  const refresh = (): Promise<void> => {
    next ??= rest.then(() => {
      next = undefined;
      const reading = read();
      const gap = () => new Promise<void>((resolve) => void clock.after(GAP_MS, resolve));
      rest = reading.then(gap, gap);
      return reading;
    });
    return next;
  };

  /** The keys that verify a webhook's notifications now. */
  const keysFor = (webhookId: string): readonly KeyObject[] => {
    const held = stored.get(webhookId);
    if (!held) return fallback;
    const now = clock.now();
    return held.filter(({ retireAt = Number.POSITIVE_INFINITY }) => retireAt > now).map(({ key }) => key);
  };

  return {
    refresh,
    keysFor,

    /**
     * Reads all secrets, and from then on again every second.
     * @param onAdded told of the webhooks of which a later read finds new secrets
     * @returns a function that ends it
     */
    async start(onAdded: typeof tellAdded): Promise<() => void> {
      await refresh();
      tellAdded = onAdded;
      const again = () => POLL_MS; // after an error, too: the log of refused requests says what is wrong
      return repeat(clock, POLL_MS, () => refresh().then(again, again));
    },

    /** The webhooks that have a key. With WEBHOOK_SECRET it is one undefined, which stands for any webhook. */
    webhooks: (): readonly (string | undefined)[] =>
      hasFallback ? [undefined] : [...stored.keys()].filter((webhook) => keysFor(webhook).length > 0),
  };
}
