import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import { repeat } from '../base/clock.ts';
import { isSeededInPublic } from '../base/seeded-random.ts';
import { keyOf } from '../notification/token.ts';
import type { Parts } from '../observer.ts';
import type { Secrets, WebhookSecret } from '../store/event-store.ts';

/** How soon the keyring notices a secret that another process stored or retired, if no request needs it earlier. */
const POLL_MS = 1000;
/** The pause between two reads: however many requests fail to verify, the store is read 20 times a second at most. */
const GAP_MS = 50;

interface KeyringOptions extends Pick<Parts, 'config' | 'clock'> {
  readonly store: { readonly secrets: Pick<Secrets, 'all'> };
  readonly log: Pick<Logger, 'error'>;
}

export type Keyring = ReturnType<typeof keyringOf>;

/** The live keys of every webhook, in memory, kept in step with the store. */
export function keyringOf({ store, clock, log, config }: KeyringOptions) {
  /** stored secrets by webhook, retired ones too */
  let stored: ReadonlyMap<string | undefined, readonly WebhookSecret[]> = new Map();
  /** keys, made once; none of a secret that verifies nothing, of which the log has said so */
  const made = new Map<string, readonly KeyObject[]>();
  /** a read that has not begun yet */
  let next: Promise<void> | undefined;
  let rest = Promise.resolve();

  const keysOf = (secret: string, whose: object): readonly KeyObject[] => {
    const known = made.get(secret);
    if (known) return known;
    const isPublic = isSeededInPublic(secret, config);
    if (isPublic)
      log.error(whose, 'this secret verifies nothing: it begins with mock-, so anybody can compute it');
    const keys = isPublic || secret === '' ? [] : [keyOf(secret)];
    made.set(secret, keys);
    return keys;
  };

  /** of every webhook that never had a stored secret */
  const fallback = keysOf(config.WEBHOOK_SECRET ?? '', { setting: 'WEBHOOK_SECRET' });

  /** The keys that verify a webhook's notifications now; without one, those of WEBHOOK_SECRET. */
  const keysFor = (webhookId: string | undefined): readonly KeyObject[] => {
    const held = stored.get(webhookId);
    if (!held) return fallback;
    const now = clock.now();
    const live = held.filter(({ retireAt = Number.POSITIVE_INFINITY }) => retireAt > now);
    return live.flatMap(({ secret }) => keysOf(secret, { webhook: webhookId }));
  };

  /** Reads the secrets again, in a read that begins after this call. All calls before that beginning share the read. */
  const refresh = (): Promise<void> => {
    next ??= rest.then(() => {
      next = undefined;
      const read = store.secrets.all().then((all) => {
        stored = Map.groupBy(all, ({ webhookId }) => webhookId);
      });
      const gap = () => new Promise<void>((resolve) => clock.after(GAP_MS, resolve));
      rest = read.then(gap, gap);
      return read;
    });
    return next;
  };

  return {
    refresh,
    keysFor,

    /** Reads all secrets, and from then on again every second. @returns a function that ends it */
    async start(): Promise<() => void> {
      await refresh();
      const again = () => POLL_MS; // after an error, too: the log of refused requests says what is wrong
      return repeat(clock, POLL_MS, () => refresh().then(again, again));
    },

    /** The webhooks that ever had a stored secret, and undefined for all that WEBHOOK_SECRET serves. */
    webhooks: () => [undefined, ...stored.keys()],
  };
}
