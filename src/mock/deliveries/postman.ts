import type { Clock } from '../../base/clock.ts';
import type { Poster, PostResult } from '../../base/poster.ts';
import type { Pending } from '../pending.ts';
import type { Attempt, Delivery, DeliveryState } from './delivery-log.ts';
import type { SignedText } from './spoil.ts';

/** A delivery with its body and token, and where it goes. */
export interface Parcel {
  readonly delivery: Delivery;
  readonly text: SignedText;
  /** Looked up for each attempt: the webhook may have been given another URL in the meantime. */
  readonly url: () => string;
  /** Whether a failing answer ends the delivery: a forger does not retry. */
  readonly once: boolean;
}

/** How long to wait for a receiver, and how often to try. */
export interface RetryPolicy {
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  /** The first retry comes after this long, each further one after twice as long as the one before. */
  readonly retryBaseMs: number;
}

/** The dependencies of a postman. */
export interface PostmanNeeds {
  /** Its timers wait until the deliveries that they start have been sent. */
  readonly clock: Clock;
  readonly outbox: Outbox;
  readonly poster: Pick<Poster, 'post'>;
  readonly pending: Pending;
  readonly policy: RetryPolicy;
  readonly queueOf: (delivery: Delivery) => string;
  readonly record: (delivery: Delivery) => void;
  /** Told of each attempt, with its delivery as it is afterwards. */
  readonly onAttempt: (delivery: Delivery) => void;
}

/** Delivers parcels to their receivers: attempts, records the result, and retries. */
export class Postman {
  readonly #needs: PostmanNeeds;
  #recall = new AbortController();
  #isClockWaiting = false;

  constructor(needs: PostmanNeeds) {
    this.#needs = needs;
  }

  /** Delivers a parcel once the parcels before it in its queue have been sent. */
  deliver(parcel: Parcel): void {
    const { signal } = this.#recall;
    this.#needs.outbox.push(this.#needs.queueOf(parcel.delivery), () => this.#attempt(parcel, signal));
    this.#makeClockWait();
  }

  /** After `ms` on the clock. */
  deliverAfter(ms: number, parcel: Parcel): void {
    const { clock, record } = this.#needs;
    const delivery = { ...parcel.delivery, next_attempt_at: isoTime(clock.now() + ms) };
    record(delivery);
    clock.after(ms, () => this.deliver({ ...parcel, delivery }));
  }

  /** Drops everything: nothing is sent or recorded any more. */
  recall(): void {
    this.#recall.abort();
    this.#recall = new AbortController();
    this.#isClockWaiting = false;
  }

  /** Sets a timer that is due already: a clock that is advanced waits for the deliveries of its timers first. */
  #makeClockWait(): void {
    if (this.#isClockWaiting) return;
    this.#isClockWaiting = true;
    this.#needs.clock.after(0, () => {
      this.#isClockWaiting = false;
    });
  }

  async #attempt(parcel: Parcel, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { clock, poster, policy } = this.#needs;
    const started = clock.now();
    const request = requestOf(parcel);
    const outcome = await poster.post({ ...request, timeoutMs: policy.timeoutMs, signal });
    if (signal.aborted) return;
    const elapsed = clock.now() - started;
    // A virtual clock stands still while the receiver has its time-out, which is over all the same.
    const duration = outcome.type === 'timed out' ? Math.max(elapsed, policy.timeoutMs) : elapsed;
    const attempt: Attempt = {
      number: parcel.delivery.attempts.length + 1,
      started_at: isoTime(started),
      duration_ms: duration,
      request,
      ...answerOf(outcome, policy.timeoutMs),
    };
    this.#conclude(parcel, attempt, duration - elapsed);
  }

  #conclude(parcel: Parcel, attempt: Attempt, behind: number): void {
    const { policy, record, pending, onAttempt } = this.#needs;
    const delivery: Delivery = {
      ...parcel.delivery,
      state: stateAfter(attempt, parcel.once ? 1 : policy.maxAttempts),
      next_attempt_at: null,
      attempts: [...parcel.delivery.attempts, attempt],
    };
    record(delivery);
    onAttempt(delivery);
    if (delivery.state !== 'pending') pending.end();
    else this.deliverAfter(behind + policy.retryBaseMs * 2 ** (attempt.number - 1), { ...parcel, delivery });
  }
}

function stateAfter({ answer, number }: Attempt, maxAttempts: number): DeliveryState {
  if (answer && answer.status >= 200 && answer.status < 300) return 'delivered';
  return number < maxAttempts ? 'pending' : 'failed';
}

function requestOf({ text, url }: Parcel): Attempt['request'] {
  return {
    method: 'POST',
    url: url(),
    headers: {
      Authorization: `Bearer ${text.token}`,
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(text.body)),
      'User-Agent': 'webhook-receiver-kit-mock',
    },
    body: text.body,
  };
}

function answerOf(outcome: PostResult, timeoutMs: number): Pick<Attempt, 'answer' | 'error'> {
  switch (outcome.type) {
    case 'answered':
      return { answer: { status: outcome.status, body: outcome.body }, error: null };
    case 'unanswered':
      return { answer: null, error: outcome.error };
    case 'timed out':
      return { answer: null, error: `no answer within ${timeoutMs} ms` };
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Sends one delivery after the other in each queue, and the queues side by side. */
export class Outbox {
  readonly #queues = new Map<string, Promise<void>>();

  /** @param send must not reject */
  push(queue: string, send: () => Promise<void>): void {
    const sent = (this.#queues.get(queue) ?? Promise.resolve()).then(send);
    this.#queues.set(queue, sent);
    void sent.then(() => {
      if (this.#queues.get(queue) === sent) this.#queues.delete(queue);
    });
  }

  /** Resolves once all queues are empty; undefined if they are empty already. */
  idle(): Promise<void> | undefined {
    return this.#queues.size === 0 ? undefined : this.#drain();
  }

  async #drain(): Promise<void> {
    while (this.#queues.size > 0) await Promise.all(this.#queues.values());
  }
}
