import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { MonotonicClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { giveBack } from '../base/gathered.ts';
import { parsePayload } from '../notification/payload.ts';
import { claimsOf, inspectToken, mayBeHs256, signerOf } from '../notification/token.ts';
import type { EventStore } from '../store/event-store.ts';
import { toVerified } from '../store/verified.ts';
import { Allowance } from './allowance.ts';
import type { BoundedLog } from './bounded-log.ts';
import type { Keyring } from './keyring.ts';
import { type Content, claimedWebhook, type Head, isCompressed, unverifiedContent } from './verdict.ts';

/** A notification that was refused, as it came. */
export interface Refused {
  readonly token: string;
  /** bytes, which it owns: it came from a throttled source, and nobody has looked into it yet */
  readonly content: Content | Uint8Array;
  readonly source: string;
}

interface QuarantineOptions {
  readonly store: Pick<EventStore, 'quarantine'>;
  readonly keyring: Pick<Keyring, 'keysFor' | 'announce'>;
  readonly clock: MonotonicClock;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  /** for lines that every refusal may cause */
  readonly lines: BoundedLog;
  /** how much is kept; with 0, nothing is */
  readonly maxBytes: number;
  /** called with how many notifications there was no room for, and whether the store has counted them */
  readonly onLost?: ((lost: number, isCounted: boolean) => void) | undefined;
}

/**
 * A token this much longer than the body cannot say the same, unless it is mostly spaces: a character takes six where it is
 * escaped, and a third more in base64. To look into one takes as long as into a large notification. The same holds for a body
 * that is so much longer than the token.
 */
const MOST_TIMES = 8;
const OTHER_PARTS = 1024;

/** Notifications that wait for this may take so much memory, however many are refused at once. */
const WAITING_BYTES = 8 * 1024 * 1024;

/** So many may share one commit, which costs more than all else that is done for one. */
const MOST_TOGETHER = 32;

/** The webhook is read from claims of at most so many characters; longer ones of a source count together. */
const LONGEST_CLAIMS = 8192;

/**
 * Keeps refused notifications that may be genuine, until the right secret is known. It examines them after their answer, one in
 * a turn of the event loop. So the time of an answer does not tell whether a notification is kept, and a flood takes no more time.
 */
export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #allowance: Allowance;
  readonly #waiting: Refused[] = [];
  #bytes = 0;
  #isWorking = false;

  constructor(options: QuarantineOptions) {
    this.#options = options;
    this.#allowance = new Allowance(options.clock);
  }

  /**
   * How much to read of the body of a throttled source's notification, of which only the head has come; 0: nothing. It looks at the
   * cheapest things first. A request that it denies is counted as lost if it may have deserved to be kept. Of a body in chunks,
   * whose length is not known, the allowance pays for the longest that the token may belong to.
   */
  wants(head: Head, source: string): number {
    const { maxBytes, onLost } = this.#options;
    const { token, isChunked } = head;
    if (maxBytes === 0 || token === undefined || isCompressed(head)) return 0;
    const length = isChunked ? longestFor(token.length) : head.contentLength;
    if (!(length > 0) || !areAlike(token.length, length) || !mayBeHs256(token)) return 0;
    const isTaken =
      this.#bytes < WAITING_BYTES / 2 &&
      !this.#allowance.isSpent(source) &&
      this.#allowance.take(source, webhookOf(token), token.length + length);
    if (!isTaken) onLost?.(1, false);
    return isTaken ? length : 0;
  }

  /** Examines it after the answers of this turn of the event loop. */
  add(refused: Refused): void {
    if (this.#options.maxBytes === 0) return;
    const size = sizeOf(refused);
    if (this.#bytes + size > WAITING_BYTES) {
      this.#options.onLost?.(1, false);
      drop(refused);
      return;
    }
    this.#bytes += size;
    this.#waiting.push(refused);
    if (this.#isWorking) return;
    this.#isWorking = true;
    void setImmediate().then(() => this.#work());
  }

  async #work(): Promise<void> {
    const { lines } = this.#options;
    while (this.#waiting.length > 0) {
      const writes: Promise<void>[] = [];
      for (const next of this.#waiting.splice(0, MOST_TOGETHER)) {
        this.#bytes -= sizeOf(next);
        const keeping = this.#keep(next).catch((error) =>
          lines.failure(this.#options, { error: messageOf(error) }, NOT_KEPT),
        );
        drop(next); // what is kept was made of it
        writes.push(keeping);
        await setImmediate(); // requests come through
      }
      await Promise.all(writes);
    }
    this.#isWorking = false;
  }

  async #keep({ token, content, source }: Refused): Promise<void> {
    const { text, value } = (content instanceof Uint8Array ? unverifiedContent(content) : content) ?? {};
    if (text === undefined || value === undefined || !areAlike(token.length, text.length)) return;
    if (parsePayload(value).type !== 'known' || inspectToken(token, value, text)) return;
    const { store, maxBytes, onLost, keyring } = this.#options;
    const notification = toVerified(value, text);
    const { isKept, lost } = await store.quarantine({ ...notification, token, source }, maxBytes);
    if (lost > 0) onLost?.(lost, true);
    // Its secret may have been found meanwhile, and what waited was admitted before this came.
    const { webhookId } = notification;
    if (isKept && signerOf(token, keyring.keysFor(webhookId))) keyring.announce(webhookId);
  }
}

/** Frees the memory of bytes. */
function drop({ content }: Refused): void {
  if (content instanceof Uint8Array) giveBack(content);
}

const NOT_KEPT = 'a refused notification could not be kept in quarantine';

const sizeOf = ({ token, content }: Refused) =>
  token.length + (content instanceof Uint8Array ? content.length : content.text.length);

/** Whether a token and a body of these lengths may say the same. */
function areAlike(token: number, body: number): boolean {
  return token <= MOST_TIMES * body + OTHER_PARTS && body <= longestFor(token);
}

function longestFor(token: number): number {
  return MOST_TIMES * token + OTHER_PARTS;
}

function webhookOf(token: string): string {
  const claims = claimsOf(token) ?? '';
  return claims.length > LONGEST_CLAIMS ? '' : claimedWebhook(claims);
}
