import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { parseJsonText } from '../notification/json.ts';
import { verifyNotification } from '../notification/token.ts';
import type { EventStore, Quarantined } from '../store/event-store.ts';
import { Keyring, keysBy } from './keyring.ts';

interface Admission {
  readonly store: Pick<EventStore, 'hasQuarantined' | 'waitingWebhooks' | 'quarantined' | 'admit'>;
  readonly keyring: Pick<Keyring, 'keysFor'>;
  readonly log: Pick<Logger, 'info'>;
  /** only notifications that name these webhooks */
  readonly webhooks?: Iterable<string> | undefined;
}

/**
 * Verifies notifications in quarantine again, for webhooks that have a key, and records those with a valid signature.
 * It commits a page at a time: after an interruption, the next run goes on from there.
 * @returns how many this process admitted
 */
export async function admitQuarantined(admission: Admission): Promise<number> {
  const { store, keyring, log, webhooks = waitingWebhooks(store) } = admission;
  let admitted = 0;
  if (!(await store.hasQuarantined())) return admitted;
  for await (const webhook of webhooks) {
    if (keyring.keysFor(webhook).length === 0) continue;
    let after: number | undefined;
    for (;;) {
      const page = await store.quarantined({ webhook, after });
      if (page.length === 0) break;
      admitted += await admitPage(admission, page);
      after = page.at(-1)?.place;
    }
  }
  if (admitted > 0) log.info({ admitted }, 'notifications admitted from quarantine');
  return admitted;
}

/** Requests come through between any two entries: verifying a large one takes a while. */
async function admitPage({ store, keyring }: Admission, page: readonly Quarantined[]): Promise<number> {
  const verified: string[] = [];
  for (const { token, webhookId, body } of page) {
    await setImmediate();
    if (!verifyNotification(token, parseJsonText(body), keyring.keysFor(webhookId), body))
      verified.push(token);
  }
  const recorded = await Promise.all(verified.map((token) => store.admit(token)));
  return recorded.filter((one) => one !== undefined).length;
}

async function* waitingWebhooks(store: Admission['store']): AsyncGenerator<string> {
  let after: string | undefined;
  for (;;) {
    const webhooks = await store.waitingWebhooks(after);
    if (webhooks.length === 0) return;
    for (const { webhookId } of webhooks) yield webhookId;
    after = webhooks.at(-1)?.webhookId;
  }
}

/**
 * Admits from quarantine with the secrets that are stored now: for a command, which has no keyring of its own.
 * @param webhook only notifications that name this webhook
 * @returns how many were admitted
 */
export async function admitWaiting(
  store: EventStore,
  config: Parameters<typeof keysBy>[0],
  webhook?: string,
): Promise<number> {
  const keyring = new Keyring({ store, clock: systemClock, ...keysBy(config) });
  await keyring.refresh();
  const webhooks = webhook === undefined ? undefined : [webhook];
  return admitQuarantined({ store, keyring, log: { info() {} }, webhooks });
}

/** How soon an admission that failed is tried again. */
const ADMIT_AGAIN_MS = 5000;

interface AdmissionsOptions extends Omit<Admission, 'webhooks'> {
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'error'>;
  /** called with webhooks whose refused notifications may verify now */
  readonly onFound: (webhooks: readonly string[]) => void;
  /** called after each run, also if nothing was admitted */
  readonly onEnd: () => void;
}

/** Admits from quarantine at the start, and whenever the keyring has found secrets. */
export class Admissions {
  readonly #options: AdmissionsOptions;
  #last = Promise.resolve();
  #isStopped = false;

  constructor(options: AdmissionsOptions) {
    this.#options = options;
  }

  start(): void {
    const { keyring, onFound } = this.#options;
    keyring.onAdded = (webhooks) => {
      onFound(webhooks);
      this.#admit(webhooks);
    };
    this.#admit();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** One after the other, so that nothing is admitted twice. */
  #admit(webhooks?: readonly string[]): void {
    const { clock, log, onEnd } = this.#options;
    this.#last = this.#last
      .then(() => admitQuarantined({ ...this.#options, webhooks }))
      .then(onEnd, (error) => {
        log.error({ error: messageOf(error) }, 'cannot admit from quarantine; trying again');
        clock.after(ADMIT_AGAIN_MS, () => this.#isStopped || this.#admit(webhooks));
      });
  }
}
