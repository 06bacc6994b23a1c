import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { type JsonObject, parseJsonText } from '../notification/json.ts';
import { parsePayload } from '../notification/payload.ts';
import { inspectToken, verifyNotification } from '../notification/token.ts';
import type { EventStore, Quarantined } from '../store/event-store.ts';
import { toVerified } from '../store/verified.ts';
import { Keyring } from './keyring.ts';

/** A notification that was refused, as it came. */
export interface Refused {
  readonly token: string;
  readonly text: string;
  readonly value: JsonObject;
  readonly source: string;
}

interface QuarantineOptions {
  readonly store: Pick<EventStore, 'quarantine'>;
  readonly log: Pick<Logger, 'error'>;
  /** how much is kept; with 0, nothing is */
  readonly maxBytes: number;
  /** called with how many notifications there was no room for */
  readonly onLost?: ((lost: number) => void) | undefined;
}

/**
 * A token this much longer than the body cannot say the same, unless it is mostly spaces: a character takes six where it is
 * escaped, and a third more in base64. To look into one takes as long as into a large notification.
 */
const MOST_TIMES = 8;
const OTHER_PARTS = 1024;

/** What waits to be looked at is not to fill the memory, however many are refused at once. */
const WAITING_BYTES = 8 * 1024 * 1024;

/**
 * Keeps refused notifications that may be genuine after all, once the right secret is known. It does so after their answer
 * and one at a time: how long an answer takes tells nothing of what is kept, and a flood is not worked for faster.
 */
export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #waiting: Refused[] = [];
  #bytes = 0;
  #isWorking = false;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  /** Looks at it after what is being answered now. */
  add(refused: Refused): void {
    if (this.#options.maxBytes === 0) return;
    const size = sizeOf(refused);
    if (this.#bytes + size > WAITING_BYTES) {
      this.#options.onLost?.(1);
      return;
    }
    this.#bytes += size;
    this.#waiting.push(refused);
    if (this.#isWorking) return;
    this.#isWorking = true;
    void setImmediate().then(() => this.#work());
  }

  async #work(): Promise<void> {
    const { log } = this.#options;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      this.#bytes -= sizeOf(next);
      await this.#keep(next).catch((error) =>
        log.error({ error: messageOf(error) }, 'a refused notification could not be kept in quarantine'),
      );
    }
    this.#isWorking = false;
  }

  async #keep({ token, text, value, source }: Refused): Promise<void> {
    if (token.length > MOST_TIMES * text.length + OTHER_PARTS) return;
    if (parsePayload(value).type !== 'known' || inspectToken(token, value, text)) return;
    const { store, maxBytes, onLost } = this.#options;
    const { lost } = await store.quarantine({ ...toVerified(value, text), token, source }, maxBytes);
    if (lost > 0) onLost?.(lost);
  }
}

const sizeOf = ({ token, text }: Refused) => token.length + text.length;

interface Admission {
  readonly store: Pick<EventStore, 'hasQuarantined' | 'waitingWebhooks' | 'quarantined' | 'admit'>;
  readonly keyring: Pick<Keyring, 'keysFor'>;
  readonly log: Pick<Logger, 'info'>;
  /** only what names these webhooks */
  readonly webhooks?: Iterable<string> | undefined;
}

/**
 * Verifies again what waits in quarantine for webhooks that have a key, a page at a time, and records what the secrets known
 * now explain. Each page is committed: where it ends early, it goes on from there the next time.
 * @returns how many were admitted; what another process admits at the same time counts there
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

/**
 * Verifies what waits in quarantine with the secrets that are known now, and records what they explain: for a command, which
 * has no keyring of its own.
 * @param fallback WEBHOOK_SECRET
 * @param webhook only what names this webhook
 * @returns how many were admitted
 */
export async function admitWaiting(
  store: EventStore,
  { fallback, webhook }: { readonly fallback: string | undefined; readonly webhook?: string | undefined },
): Promise<number> {
  const keyring = new Keyring({ store, clock: systemClock, fallback });
  await keyring.refresh();
  const webhooks = webhook === undefined ? undefined : [webhook];
  return admitQuarantined({ store, keyring, log: { info() {} }, webhooks });
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

const MINUTE_MS = 60_000;

/** Says what the quarantine had no room for: the first at once, and from then on once a minute. */
export function lossReporter(clock: Clock, log: Pick<Logger, 'warn'>): (lost: number) => void {
  let sum = 0;
  let isWaiting = false;
  const say = (): void => {
    isWaiting = sum > 0;
    if (!isWaiting) return;
    log.warn({ lost: sum }, 'the quarantine is full; notifications for which no secret is known are lost');
    sum = 0;
    clock.after(MINUTE_MS, say);
  };
  return (lost) => {
    sum += lost;
    if (!isWaiting) say();
  };
}
