import type { Answered } from '../../observer.ts';
import type { Result } from './request-results.ts';

/** Why a request was refused. It holds nothing of its token. */
export interface Rejection {
  /** milliseconds since the epoch */
  readonly at: number;
  readonly result: Result;
  readonly answer: Answered;
}

const KEPT_REJECTIONS = 200;

/** The last 200 rejections of this process. */
export class Rejections {
  readonly #kept: Rejection[] = [];
  #next = 0;

  add(rejection: Rejection): void {
    this.#kept[this.#next] = rejection;
    this.#next = (this.#next + 1) % KEPT_REJECTIONS;
  }

  /** Newest first. */
  list(): readonly Rejection[] {
    return [...this.#kept.slice(this.#next), ...this.#kept.slice(0, this.#next)].reverse();
  }
}

/** A webhook of which nothing was accepted since it was last refused. */
export interface RefusedWebhook {
  readonly webhookId: string;
  /** refusals in a row */
  readonly refused: number;
  /** milliseconds since the epoch */
  readonly lastRefusedAt: number;
  /** in this process; undefined if it never was */
  readonly lastAcceptedAt: number | undefined;
}

/** Strangers can name any webhook: beyond, the one that was named longest ago gives way. */
const KEPT_WEBHOOKS = 1000;

/** Which webhooks were refused again and again, whatever comes of others: the secret of one may be wrong. */
export class RefusedWebhooks {
  readonly #webhooks = new Map<string, RefusedWebhook>();

  accepted(webhookId: string, now: number): void {
    this.#keep({ webhookId, refused: 0, lastRefusedAt: 0, lastAcceptedAt: now });
  }

  refused(webhookId: string, now: number): void {
    const { refused, lastAcceptedAt } = this.#webhooks.get(webhookId) ?? {
      refused: 0,
      lastAcceptedAt: undefined,
    };
    this.#keep({ webhookId, refused: refused + 1, lastRefusedAt: now, lastAcceptedAt });
  }

  /** Those refused within the last so many milliseconds, while nothing of them was accepted. */
  list(ms: number, now: number): readonly RefusedWebhook[] {
    return [...this.#webhooks.values()].filter(
      ({ lastRefusedAt, lastAcceptedAt = 0 }) => lastRefusedAt > now - ms && lastAcceptedAt <= now - ms,
    );
  }

  #keep(webhook: RefusedWebhook): void {
    this.#webhooks.delete(webhook.webhookId);
    this.#webhooks.set(webhook.webhookId, webhook);
    const [oldest] = this.#webhooks.keys();
    if (this.#webhooks.size > KEPT_WEBHOOKS && oldest !== undefined) this.#webhooks.delete(oldest);
  }
}
