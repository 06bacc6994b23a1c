import type { PostResult } from '../base/poster.ts';
import type { JsonObject } from '../notification/json.ts';
import { isKind } from '../notification/kinds.ts';
import type { MockClock } from './clock.ts';
import {
  type Attempt,
  createFaults,
  type Delivery,
  type DeliveryFilter,
  isSpoiled,
  type SignedText,
  signedText,
} from './delivery.ts';
import type { Settings } from './mock-options.ts';
import type { Random } from './random.ts';
import { MockError } from './requests.ts';
import type { CreatedWebhook, Metadata, Webhooks } from './webhooks.ts';

/** The dependencies and settings of deliveries. */
export interface DeliveriesNeeds extends Settings {
  readonly clock: MockClock;
  readonly random: Random;
  readonly webhooks: Webhooks;
}

/** A delivery with its body and token, and where it goes. */
interface Parcel {
  readonly delivery: Delivery;
  readonly webhook: CreatedWebhook;
  readonly text: SignedText;
}

/** A delayed delivery waits from one second to a minute; a duplicate follows within five seconds. */
const DELAY_MS = { least: 1000, most: 60_000 };
const DUPLICATE_MS = 5000;
/** A reordered delivery that no other overtakes is sent after this time. */
const LONGEST_REORDER_MS = 5000;

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Sends notifications to the webhooks that they are for, with faults and retries, and keeps a log of it. */
export function createDeliveries(needs: DeliveriesNeeds) {
  const { clock, random, webhooks, poster, onAttempt, timeoutMs } = needs;
  /** in order of creation */
  const log = new Map<string, Delivery>();
  let lastId = 0;
  const faults = createFaults(random);
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
    log.set(delivery.id, delivery);
    const [oldest = ''] = log.keys();
    if (log.size > needs.keepDeliveries) log.delete(oldest);
    return { delivery, webhook, text: signedText(delivery, webhook.secret, random) };
  };

  /** Changes a delivery in the log, unless it has been forgotten. */
  const change = ({ delivery: before, ...parcel }: Parcel, changed: Partial<Delivery>): Parcel => {
    const delivery = { ...before, ...changed };
    if (log.has(delivery.id)) log.set(delivery.id, delivery);
    return { ...parcel, delivery };
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
    const waiting = change(parcel, { next_attempt_at: isoTime(clock.now() + ms) });
    clock.step(ms, () => queue(waiting));
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
    const number = parcel.delivery.attempts.length + 1;
    const answer = answerOf(result, timeoutMs);
    conclude(parcel, { number, started_at: isoTime(started), duration_ms, request, ...answer }, elapsed);
  };
  const conclude = (parcel: Parcel, made: Attempt, elapsed: number) => {
    const { attempts, faults } = parcel.delivery;
    const isLast = made.number >= needs.maxAttempts || isSpoiled(faults); // a forger does not retry
    const isDelivered = made.answer !== null && made.answer.status >= 200 && made.answer.status < 300;
    const state = isDelivered ? 'delivered' : isLast ? 'failed' : 'pending';
    const after = change(parcel, { state, next_attempt_at: null, attempts: [...attempts, made] });
    onAttempt(after.delivery);
    if (state !== 'pending') return;
    queueLater(made.duration_ms - elapsed + needs.retryBaseMs * 2 ** (made.number - 1), after);
  };

  const send = (webhook: CreatedWebhook, notification: JsonObject): Delivery[] => {
    const drawn = faults.draw();
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
    publish(payload: JsonObject): Delivery[] {
      const { webhook_id } = payload;
      if (webhook_id !== undefined) return send(webhooks.withSecret(String(webhook_id)), payload);
      return webhooks
        .matching((metadata) => isWanted(metadata, payload))
        .flatMap((webhook) => send(webhook, withWebhookId(payload, webhook.id)));
    },

    /** Sends the notification of a delivery again, freshly signed and without faults. @throws MockError 404 */
    redeliver(id: string): Delivery {
      const earlier = log.get(id);
      if (!earlier) throw new MockError(404, `there is no delivery ${id}`);
      const webhook = webhooks.withSecret(earlier.webhook_id);
      const parcel = pack(webhook, earlier.notification, { redelivery_of: id });
      queue(parcel);
      return parcel.delivery;
    },

    setFaults: faults.set,

    /** The log, in order of creation. */
    find({ fault, ...members }: DeliveryFilter = {}): Delivery[] {
      const wanted = Object.entries(members).filter(([, value]) => value !== undefined);
      return [...log.values()].filter(({ faults, state, webhook_id, notification }) => {
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
      faults.reset();
      lastId = 0;
    },
  };
}

function requestOf({ text: { body, token } }: Parcel, url: string): Attempt['request'] {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'User-Agent': 'webhook-receiver-kit-mock',
  };
  return { method: 'POST', url, headers, body };
}

function answerOf(result: PostResult, timeoutMs: number): Pick<Attempt, 'answer' | 'error'> {
  if (result.type === 'timed out') return { answer: null, error: `no answer within ${timeoutMs} ms` };
  if (result.type === 'unanswered') return { answer: null, error: result.error };
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
