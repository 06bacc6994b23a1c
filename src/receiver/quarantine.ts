import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { JsonObject } from '../notification/json.ts';
import { parsePayload } from '../notification/payload.ts';
import { inspectToken } from '../notification/token.ts';
import type { EventStore } from '../store/event-store.ts';
import { toVerified } from '../store/verified.ts';

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

/** Notifications that wait for this may take so much memory, however many are refused at once. */
const WAITING_BYTES = 8 * 1024 * 1024;

/**
 * Keeps refused notifications that may be genuine, until the right secret is known. It examines them after their answer and
 * one at a time. So the time of an answer does not tell whether a notification is kept, and a flood takes no more time.
 */
export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #waiting: Refused[] = [];
  #bytes = 0;
  #isWorking = false;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  /** Examines it after the answers of this turn of the event loop. */
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

const MINUTE_MS = 60_000;

/** Logs how many notifications the quarantine had no room for: the first at once, and from then on once a minute. */
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
