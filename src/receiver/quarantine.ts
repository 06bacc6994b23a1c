import type { Logger } from 'pino';
import { type MonotonicClock, within } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { ParsedBody } from '../notification/json.ts';
import { parsePayload } from '../notification/payload.ts';
import { claimsRefusal, verifyNotification } from '../notification/token.ts';
import type { EventStore, ToQuarantine } from '../store/event-store.ts';
import { toVerified } from '../store/verified.ts';
import type { Keyring } from './keyring.ts';
import type { Unverified } from './verdict.ts';

interface QuarantineOptions {
  readonly store: Pick<EventStore, 'quarantine'>;
  readonly keyring: Pick<Keyring, 'keysFor'>;
  readonly clock: MonotonicClock;
  readonly log: Pick<Logger, 'warn'>;
  /** how much is kept; with 0, nothing is */
  readonly maxBytes: number;
}

/** Genuine notifications have some 200 bytes; a token holds the body in base64, perhaps with more spaces. */
const LONGEST_BODY = 8192;
const LONGEST_TOKEN = 2 * LONGEST_BODY;
/** So many entries wait for their commit at most: they take some 24 MB. */
const MOST_WAITING = 1000;
/** How long losses gather before the log and the store get their number, and how long a stop waits for that. */
const COUNT_MS = 1000;
const FULL =
  'notifications for which no secret is known are lost: the quarantine is full, or they come too fast for it';

/** Keeps refused notifications that may be genuine, until the right secret is known. */
export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #waiting = new Set<Promise<void>>();
  /** how many notifications were lost since the log last said so, and why the store could not keep some of them */
  #lost = 0;
  #error: string | undefined;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  /** Keeps a notification that was refused since no known secret explains its signature, if nothing else is wrong with it. */
  add({ token, body }: Unverified, source: string): void {
    const { text, value } = body;
    if (this.#options.maxBytes === 0) return;
    if (token.length > LONGEST_TOKEN || Buffer.byteLength(text) > LONGEST_BODY) return;
    if (parsePayload(value).type !== 'known' || claimsRefusal(token, body)) return;
    if (this.#waiting.size >= MOST_WAITING) return void this.#lose(1);
    const kept = this.#keep({ ...toVerified(value, text), token, source }, body);
    this.#waiting.add(kept);
    kept.finally(() => this.#waiting.delete(kept));
  }

  /** Waits for entries whose commit is under way, and counts the lost ones: a second at most, as the store may not answer. */
  async stop(): Promise<void> {
    const ended = Promise.all(this.#waiting).then(() => this.#count());
    await within(this.#options.clock, COUNT_MS, ended);
  }

  async #keep(entry: ToQuarantine, body: ParsedBody): Promise<void> {
    const { store, keyring, maxBytes } = this.#options;
    try {
      const lost = await store.quarantine.add(entry, maxBytes);
      if (lost > 0) this.#lose(lost);
      // The keyring may have found its secret meanwhile, and the run that admits had looked before this entry came.
      const keys = keyring.keysFor(entry.webhookId);
      if (!verifyNotification(entry.token, body, keys)) await store.quarantine.admit(entry.token);
    } catch (error) {
      this.#lose(1, messageOf(error));
    }
  }

  #lose(lost: number, error = this.#error): void {
    if (this.#lost === 0) this.#options.clock.after(COUNT_MS, () => this.#count());
    this.#lost += lost;
    this.#error = error;
  }

  async #count(): Promise<void> {
    const [lost, error] = [this.#lost, this.#error];
    if (lost === 0) return;
    this.#lost = 0;
    this.#error = undefined;
    this.#options.log.warn({ lost, error }, FULL);
    await this.#options.store.quarantine.countLost({ n: lost }).catch(() => {}); // the log has them
  }
}
