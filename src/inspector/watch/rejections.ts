import type { Answered } from '../../observer.ts';
import type { Result } from './request-results.ts';

/** A refused request and the reason. It contains no part of the token. */
export interface Rejection {
  /** milliseconds since the epoch */
  readonly at: number;
  readonly result: Result;
  readonly answer: Answered;
  /** whether a secret of its webhook was stored since */
  readonly isOver?: boolean;
}

const KEPT_REJECTIONS = 200;

/** The last 200 rejections of this process. */
export class Rejections {
  #kept: Rejection[] = [];
  #next = 0;

  add(rejection: Rejection): void {
    this.#kept[this.#next] = rejection;
    this.#next = (this.#next + 1) % KEPT_REJECTIONS;
  }

  /** Marks those of webhooks that have another secret now. */
  secretsFound(webhooks: readonly string[]): void {
    const found = new Set(webhooks);
    this.#kept = this.#kept.map((one) => (found.has(one.answer.webhookId) ? { ...one, isOver: true } : one));
  }

  /** Whether there were some in the last `ms` milliseconds, and none of them stands for a problem that is still there. */
  areOver(ms: number, now: number): boolean {
    const recent = this.#kept.filter(({ at }) => at > now - ms);
    return recent.length > 0 && recent.every(({ isOver }) => isOver);
  }

  /** Newest first. */
  list(): readonly Rejection[] {
    return [...this.#kept.slice(this.#next), ...this.#kept.slice(0, this.#next)].reverse();
  }
}

/** A webhook with the requests for it that were refused since the last accepted one, and since its secret was stored. */
export interface RefusedWebhook {
  readonly webhookId: string;
  /** refusals in a row */
  readonly refused: number;
  /** milliseconds since the epoch */
  readonly lastRefusedAt: number;
  /** in this process; undefined if it never was */
  readonly lastAcceptedAt: number | undefined;
}

/** Strangers can name any webhook. Over this number, the one that was named longest ago is forgotten. */
const KEPT_WEBHOOKS = 1000;

/** Finds webhooks whose requests are all refused while those of others are accepted: their secret may be wrong. */
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

  /** Forgets what was refused before these webhooks had another secret. */
  secretsFound(webhooks: readonly string[]): void {
    for (const webhookId of webhooks) {
      const known = this.#webhooks.get(webhookId);
      if (known) this.#webhooks.set(webhookId, { ...known, refused: 0, lastRefusedAt: 0 });
    }
  }

  /** The webhooks with refused requests and no accepted one in the last `ms` milliseconds. */
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
