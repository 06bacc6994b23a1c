import { z } from 'zod';
import type { PostResult, post } from '../base/post.ts';
import type { JsonObject } from '../notification/json.ts';
import { isKind } from '../notification/kinds.ts';
import type { MockClock } from './clock.ts';
import type { FaultName, Faults } from './faults.ts';
import { drawFaults, faultNames, faultsSchema, isSpoiled, NO_FAULTS, signedText } from './faults.ts';
import type { Random } from './random.ts';
import { MockError, parse } from './requests.ts';
import type { CreatedWebhook, Metadata, Webhooks } from './webhooks.ts';

/** One attempt to deliver a notification. */
export interface DeliveryAttempt {
  /** From 1. */
  readonly number: number;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly request: {
    readonly method: 'POST';
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  /** The receiver's answer, its body cut after 4 KiB; null if no answer came. */
  readonly answer: { readonly status: number; readonly body: string } | null;
  /** Why no answer came. */
  readonly error: string | null;
}

const states = ['pending', 'delivered', 'failed', 'dropped'] as const;

/** `delivered` once a receiver has answered 2xx; `failed` after the last attempt; `dropped` by a fault. */
export type DeliveryState = (typeof states)[number];

/** A notification on its way to one webhook. */
export interface Delivery {
  readonly id: string;
  readonly webhook_id: string;
  readonly state: DeliveryState;
  readonly faults: readonly FaultName[];
  readonly duplicate_of: string | null;
  readonly redelivery_of: string | null;
  readonly created_at: string;
  readonly next_attempt_at: string | null;
  /** The genuine notification. The attempts show how a fault changed it. */
  readonly notification: JsonObject;
  readonly attempts: readonly DeliveryAttempt[];
}

/** Which deliveries to show; an absent member does not restrict. */
export const filterSchema = z
  .strictObject({
    event: z.string(),
    webhook_id: z.string(),
    site_id: z.string(),
    media_id: z.string(),
    channel_id: z.string(),
    state: z.enum(states),
    fault: z.enum(faultNames),
  })
  .partial();

export type DeliveryFilter = z.output<typeof filterSchema>;

/** The dependencies and settings of deliveries. */
interface DeliveriesNeeds {
  readonly clock: MockClock;
  readonly random: Random;
  readonly webhooks: Webhooks;
  readonly poster: { readonly post: typeof post };
  readonly onAttempt: (delivery: Delivery) => void;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
}

/** A delivery as it is now, with its body and token, and where it goes. */
interface Parcel {
  delivery: Delivery;
  readonly webhook: CreatedWebhook;
  readonly text: ReturnType<typeof signedText>;
}

/** How many deliveries the log keeps. */
const LONGEST_LOG = 20_000;
/** How long the first retry waits; each further one waits twice as long as the one before. */
const RETRY_BASE_MS = 1000;
/** A delayed delivery waits from one second to a minute; a duplicate follows within five seconds. */
const DELAY_MS = { least: 1000, most: 60_000 };
const DUPLICATE_MS = 5000;
/** A reordered delivery that no other overtakes is sent after this time. */
const LONGEST_REORDER_MS = 5000;

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Sends notifications to the webhooks that they are for, with faults and retries, and keeps a log of it. */
export function createDeliveries(needs: DeliveriesNeeds) {
  const { clock, random, webhooks, poster, onAttempt, timeoutMs, maxAttempts } = needs;
  /** in order of creation */
  const log = new Map<string, Parcel>();
  let lastId = 0;
  let probabilities = NO_FAULTS;
  /** the last delivery in each queue */
  const queues = new Map<string, Promise<void>>();
  /** for each webhook, sends the delivery that waits to be overtaken */
  const reordered = new Map<string, () => void>();
  let recall = new AbortController();

  const pack = (webhook: CreatedWebhook, notification: JsonObject, details: Partial<Delivery>): Parcel => {
    const delivery: Delivery = {
      id: String(++lastId),
      webhook_id: webhook.id,
      state: 'pending',
      faults: [],
      duplicate_of: null,
      redelivery_of: null,
      created_at: isoTime(clock.now()),
      next_attempt_at: null,
      notification,
      attempts: [],
      ...details,
    };
    const parcel = { delivery, webhook, text: signedText(delivery, webhook.secret, random) };
    log.set(delivery.id, parcel);
    const [oldest = ''] = log.keys();
    if (log.size > LONGEST_LOG) log.delete(oldest);
    return parcel;
  };

  /** Sends a delivery once those before it in its queue have been sent. */
  const queue = (parcel: Parcel) => {
    // In real time, a slow receiver of one webhook must not delay the others; on a virtual clock, one order is kept.
    const name = clock.isVirtual ? '' : parcel.webhook.id;
    const { signal } = recall;
    const sent = (queues.get(name) ?? Promise.resolve()).then(() => attempt(parcel, signal));
    queues.set(name, sent);
    clock.hold(sent);
  };
  const queueLater = (ms: number, parcel: Parcel) => {
    parcel.delivery = { ...parcel.delivery, next_attempt_at: isoTime(clock.now() + ms) };
    clock.step(ms, () => queue(parcel));
  };
  /** Queues a delivery after the next one for the same webhook. */
  const waitToBeOvertaken = (parcel: Parcel) => {
    const { id } = parcel.webhook;
    const send = () => {
      cancel();
      reordered.delete(id);
      queue(parcel);
    };
    const cancel = clock.step(LONGEST_REORDER_MS, send);
    reordered.set(id, send);
  };

  const attempt = async (parcel: Parcel, signal: AbortSignal) => {
    if (signal.aborted) return;
    const started = clock.now();
    const request = requestOf(parcel, webhooks.urlOf(parcel.webhook));
    const result = await poster.post({ ...request, timeoutMs, signal });
    if (signal.aborted) return;
    const elapsed = clock.now() - started;
    // A virtual clock stands still while the receiver has its time-out, which is over all the same.
    const duration_ms = result.type === 'timed out' ? Math.max(elapsed, timeoutMs) : elapsed;
    const { attempts, faults } = parcel.delivery;
    const number = attempts.length + 1;
    const made = { number, started_at: isoTime(started), duration_ms, request, ...answerOf(result) };
    const isDelivered = result.type === 'answered' && result.status >= 200 && result.status < 300;
    const isLast = number >= maxAttempts || isSpoiled(faults); // a forger does not retry
    const state = isDelivered ? 'delivered' : isLast ? 'failed' : 'pending';
    parcel.delivery = { ...parcel.delivery, state, next_attempt_at: null, attempts: [...attempts, made] };
    onAttempt(parcel.delivery);
    if (state === 'pending') queueLater(duration_ms - elapsed + RETRY_BASE_MS * 2 ** (number - 1), parcel);
  };

  const send = (webhook: CreatedWebhook, notification: JsonObject): Delivery[] => {
    const drawn = drawFaults(probabilities, random);
    if (drawn.includes('drop')) {
      return [pack(webhook, notification, { state: 'dropped', faults: drawn }).delivery];
    }
    const parcel = pack(webhook, notification, { faults: drawn.filter((name) => name !== 'duplicate') });
    if (drawn.includes('delay')) {
      queueLater(DELAY_MS.least + random.int(DELAY_MS.most - DELAY_MS.least), parcel);
    } else if (drawn.includes('reorder') && !reordered.has(webhook.id)) {
      waitToBeOvertaken(parcel);
    } else {
      queue(parcel);
      reordered.get(webhook.id)?.();
    }
    if (!drawn.includes('duplicate')) return [parcel.delivery];
    const copy = pack(webhook, notification, { faults: ['duplicate'], duplicate_of: parcel.delivery.id });
    queueLater(random.int(DUPLICATE_MS), copy);
    return [parcel.delivery, copy.delivery];
  };

  return {
    /**
     * Sends any payload as it is, to the webhook that its `webhook_id` names, else to all that match its site and kind.
     * @throws MockError 404 if there is no such webhook
     */
    sendNotification(payload: JsonObject): Delivery[] {
      const { webhook_id } = payload;
      if (webhook_id !== undefined) return send(webhooks.withSecret(String(webhook_id)), payload);
      return webhooks
        .matching((metadata) => isWanted(metadata, payload))
        .flatMap((webhook) => send(webhook, withWebhookId(payload, webhook.id)));
    },

    /** Sends the notification of a delivery again, freshly signed and without faults. @throws MockError 404 */
    redeliver(id: string): Delivery {
      const earlier = log.get(id)?.delivery;
      if (!earlier) throw new MockError(404, `there is no delivery ${id}`);
      const webhook = webhooks.withSecret(earlier.webhook_id);
      const parcel = pack(webhook, earlier.notification, { redelivery_of: id });
      queue(parcel);
      return parcel.delivery;
    },

    /** Sets some of the probabilities. @returns all of them @throws MockError 400 */
    setFaults(some: unknown): Faults {
      probabilities = { ...probabilities, ...parse(faultsSchema, some) };
      return probabilities;
    },

    /** The log, in order of creation. */
    deliveries({ fault, ...members }: DeliveryFilter = {}): Delivery[] {
      const wanted = Object.entries(members).filter(([, value]) => value !== undefined);
      const all = [...log.values()].map(({ delivery }) => delivery);
      return all.filter(({ faults, state, webhook_id, notification }) => {
        const values: JsonObject = { ...notification, state, webhook_id };
        const isMatch = wanted.every(([name, value]) => values[name] === value);
        return isMatch && (fault === undefined || faults.includes(fault));
      });
    },

    /** Forgets everything, also what is being sent; the timers are the clock's. */
    reset(): void {
      recall.abort();
      recall = new AbortController();
      for (const state of [log, queues, reordered]) state.clear();
      probabilities = NO_FAULTS;
      lastId = 0;
    },
  };
}

function requestOf({ text: { body, token } }: Parcel, url: string): DeliveryAttempt['request'] {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'User-Agent': 'webhook-receiver-kit-mock',
  };
  return { method: 'POST', url, headers, body };
}

function answerOf(result: PostResult): Pick<DeliveryAttempt, 'answer' | 'error'> {
  if (result.type !== 'answered') return { answer: null, error: result.error };
  return { answer: { status: result.status, body: result.body }, error: null };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** A payload without site_id matches every site; one of an unknown kind matches every webhook of its site. */
function isWanted({ events, site_ids }: Metadata, { event, site_id }: JsonObject): boolean {
  return (
    (!isKind(event) || events.includes(event)) &&
    (site_id === undefined || site_ids.some((one) => one === site_id))
  );
}

/** At the position that the provider uses: some receivers compare the order of members too. */
function withWebhookId(payload: JsonObject, webhookId: string): JsonObject {
  const members = Object.entries(payload);
  const at = members.findIndex(([name]) => name === 'site_id' || name === 'event_time');
  return Object.fromEntries(members.toSpliced(at < 0 ? members.length : at, 0, ['webhook_id', webhookId]));
}
