import type { Logger } from 'pino';
import { type Clock, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { parseBody } from '../notification/json.ts';
import { verifyNotification } from '../notification/token.ts';
import type { EventStore, Quarantined } from '../store/event-store.ts';
import { type Keyring, type KeyringConfig, keyringOf } from './keyring.ts';

/** How many entries are read, verified and recorded in one step. Between two steps the process answers requests. */
const PAGE = 50;

/**
 * Verifies notifications in quarantine again, for webhooks that have a key, and records those with a valid signature. It commits a page
 * at a time: after an interruption, the next run goes on from there.
 * @param webhooks only notifications that name these
 * @param isOver whether to end after the page under way
 * @returns how many this process admitted
 */
export async function admitQuarantined(
  store: EventStore,
  keyring: Keyring,
  webhooks?: readonly string[],
  isOver = () => false,
): Promise<number> {
  let admitted = 0;
  for (const webhook of webhooks ?? keyring.webhooks()) {
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
  }
  return admitted;
}

/**
 * Admits from quarantine with the secrets that are stored now: for a command, which has no keyring of its own.
 * @param webhook only notifications that name this webhook
 * @returns how many were admitted
 */
export async function admitWaiting(store: EventStore, config: KeyringConfig, webhook?: string) {
  const keyring = keyringOf({ store, clock: systemClock, config, log: { error() {} } });
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

/** Admissions from quarantine while the service runs: one run after the other, so that no entry is admitted twice. */
export function admissionsOf({ store, keyring, clock, log }: AdmissionOptions) {
  let last = Promise.resolve();
  let isStopped = false;
  /** Begins a run, or has one follow the run under way. @param webhooks only notifications that name these */
  const admit = (webhooks?: readonly string[]): void => {
    last = last.then(async () => {
      if (isStopped) return;
      try {
        const admitted = await admitQuarantined(store, keyring, webhooks, () => isStopped);
        if (admitted > 0) log.info({ admitted }, 'notifications admitted from quarantine');
      } catch (error) {
        log.error({ error: messageOf(error) }, 'cannot admit from quarantine; trying again');
        clock.after(AGAIN_MS, () => admit(webhooks));
      }
    });
  };
  return {
    admit,
    /** Resolves once no run is under way. */
    stop(): Promise<void> {
      isStopped = true;
      return last;
    },
  };
}
