import type { KeyObject } from 'node:crypto';
import { repeat, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Config } from '../config.ts';
import { parseBody } from '../notification/json.ts';
import { verifyNotification } from '../notification/token.ts';
import type { Parts } from '../observer.ts';
import type { EventStore, Quarantined } from '../store/event-store.ts';
import { type Keyring, keyringOf } from './keyring.ts';

/** How many entries are read, verified and recorded in one step. Between two steps the process answers requests. */
const PAGE = 50;

/** How soon a service notices keys that it has not tried yet, and tries an admission again that failed. */
const LOOK_MS = 1000;
const AGAIN_MS = 5000;

/**
 * Verifies notifications in quarantine again, and records those with a valid signature. It commits a page at a time: after an
 * interruption, the next run goes on from there.
 * @param webhook only notifications that name it
 * @param isOver whether to end after the page under way
 * @returns how many this process admitted
 */
export async function admitQuarantined(
  store: EventStore,
  keyring: Keyring,
  webhook?: string,
  isOver = () => false,
): Promise<number> {
  let admitted = 0;
  for (let after: number | undefined = 0; after !== undefined && !isOver(); ) {
    const page: readonly Quarantined[] = await store.quarantine.entries({ webhook, after, limit: PAGE });
    const verified = page.filter(
      ({ webhookId, token, body }) =>
        !verifyNotification(token, parseBody(Buffer.from(body)), keyring.keysFor(webhookId)),
    );
    const recorded = await Promise.all(verified.map(({ token }) => store.quarantine.admit(token)));
    admitted += recorded.filter((one) => one !== undefined).length;
    after = page.at(-1)?.seq;
  }
  return admitted;
}

/**
 * Admits from quarantine with the secrets that are stored now: for a command, which has no keyring of its own.
 * @param webhook only notifications that name this webhook
 * @returns how many were admitted
 */
export async function admitWaiting(store: EventStore, config: Config, webhook?: string) {
  const keyring = keyringOf({ store, clock: systemClock, config, log: { error() {} } });
  await keyring.refresh();
  return admitQuarantined(store, keyring, webhook);
}

/**
 * Admits from quarantine while the service runs, whenever a webhook has a key that was not tried yet: at first, all of them.
 * @returns a function that ends it, and resolves once no page is under way
 */
export function keepAdmitting({ store, clock, log }: Parts, keyring: Keyring): () => Promise<void> {
  const tried = new Map<string | undefined, readonly KeyObject[]>();
  let isStopped = false;
  const look = async (): Promise<number> => {
    try {
      for (const webhook of keyring.webhooks()) {
        const keys = keyring.keysFor(webhook);
        const isTried = keys.every((key) => tried.get(webhook)?.includes(key));
        const admitted = isTried ? 0 : await admitQuarantined(store, keyring, webhook, () => isStopped);
        if (admitted > 0) log.info({ admitted }, 'notifications admitted from quarantine');
        tried.set(webhook, keys);
      }
      return LOOK_MS;
    } catch (error) {
      log.error({ error: messageOf(error) }, 'cannot admit from quarantine; trying again');
      return AGAIN_MS;
    }
  };
  let last: Promise<number> | undefined;
  const end = repeat(clock, 0, () => (last = look()));
  return async () => {
    isStopped = true;
    end();
    await last;
  };
}
