import type { Logger } from 'pino';
import { type Clock, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { parseBody } from '../notification/json.ts';
import { verifyNotification } from '../notification/token.ts';
import type { EventStore } from '../store/event-store.ts';
import { Keyring, type KeyringOptions } from './keyring.ts';

/** Entries that are read, verified and recorded in one step: requests come through between two. */
const PAGE = 50;

/**
 * Verifies notifications in quarantine again, for webhooks that have a key, and records those with a valid signature. It commits a page
 * at a time: after an interruption, the next run goes on from there.
 * @param webhooks only notifications that name these
 * @returns how many this process admitted
 */
export async function admitQuarantined(
  store: EventStore,
  keyring: Keyring,
  webhooks?: readonly string[],
): Promise<number> {
  let admitted = 0;
  const waiting = webhooks ?? (await store.waitingWebhooks()).map(({ webhookId }) => webhookId);
  for (const webhook of waiting) {
    let after: number | undefined;
    do {
      const keys = keyring.keysFor(webhook);
      const page = keys.length > 0 ? await store.quarantined({ webhook, after, limit: PAGE }) : [];
      const verified = page.filter(({ token, body }) => {
        const bytes = Buffer.from(body);
        return !verifyNotification(token, bytes, parseBody(bytes).value, keys);
      });
      const recorded = await Promise.all(verified.map(({ token }) => store.admit(token)));
      admitted += recorded.filter((one) => one !== undefined).length;
      after = page.at(-1)?.seq;
    } while (after !== undefined);
  }
  return admitted;
}

/**
 * Admits from quarantine with the secrets that are stored now: for a command, which has no keyring of its own.
 * @param webhook only notifications that name this webhook
 * @returns how many were admitted
 */
export async function admitWaiting(
  store: EventStore,
  config: KeyringOptions['config'],
  webhook?: string,
): Promise<number> {
  const keyring = new Keyring({ store, clock: systemClock, config, log: { error() {} } });
  await keyring.refresh();
  return admitQuarantined(store, keyring, webhook === undefined ? undefined : [webhook]);
}

/** How soon an admission that failed is tried again. */
const AGAIN_MS = 5000;

interface AdmissionOptions {
  readonly store: EventStore;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'error'>;
}

/**
 * Admits from quarantine now, and whenever the keyring has found secrets: one run after the other, so that nothing is admitted twice.
 * @returns a function that ends it, and resolves once no run is under way
 */
export function keepAdmitting(options: AdmissionOptions): () => Promise<void> {
  const { store, keyring, clock, log } = options;
  let last = Promise.resolve();
  let isStopped = false;
  const admit = (webhooks?: readonly string[]): void => {
    last = last.then(async () => {
      if (isStopped) return;
      try {
        const admitted = await admitQuarantined(store, keyring, webhooks);
        if (admitted > 0) log.info({ admitted }, 'notifications admitted from quarantine');
      } catch (error) {
        log.error({ error: messageOf(error) }, 'cannot admit from quarantine; trying again');
        clock.after(AGAIN_MS, () => admit(webhooks));
      }
    });
  };
  keyring.onAdded = admit;
  admit();
  return () => {
    isStopped = true;
    return last;
  };
}
