import type { Clock } from '../../base/clock.ts';
import type { JsonObject } from '../../notification/json.ts';
import { isKind } from '../../notification/kinds.ts';
import { MockError } from '../mock-error.ts';
import type { Pending } from '../pending.ts';
import type { Random } from '../random.ts';
import type { CreatedWebhook, Metadata, WebhookRegistry } from '../webhooks/webhook-registry.ts';
import { drawFaults, type FaultName, type Faults, isSpoiling, noFaults } from './delivery-faults.ts';
import type { Delivery, DeliveryLog } from './delivery-log.ts';
import type { Parcel, Postman } from './postman.ts';
import { genuine, spoiled } from './spoil.ts';

/** A delayed delivery waits from one second to a minute; a duplicate follows within five seconds. */
const DELAY_MS = { least: 1000, most: 60_000 };
const DUPLICATE_MS = 5000;
/** A reordered delivery that no other overtakes is sent after this time. */
const LONGEST_REORDER_MS = 5000;

/** The dependencies of a courier. */
export interface CourierNeeds {
  readonly clock: Clock;
  readonly random: Random;
  readonly registry: WebhookRegistry;
  readonly log: DeliveryLog;
  readonly postman: Postman;
  readonly pending: Pending;
}

/** Decides which webhooks get a notification, and which faults each delivery gets. */
export class Courier {
  readonly #needs: CourierNeeds;
  readonly #reordering: Reordering;
  faults: Faults = noFaults;

  constructor(needs: CourierNeeds) {
    this.#needs = needs;
    this.#reordering = new Reordering(needs.clock, needs.postman);
  }

  /**
   * Sends a notification to the webhook that its `webhook_id` names, else to all that match its site and kind.
   * @throws MockError 404 if there is no such webhook
   */
  publish(payload: JsonObject): Delivery[] {
    const { registry } = this.#needs;
    const { webhook_id } = payload;
    if (webhook_id !== undefined) return this.#send(registry.withSecret(String(webhook_id)), payload);
    return [...registry.matching((metadata) => isWanted(metadata, payload))].flatMap((webhook) =>
      this.#send(webhook, withWebhookId(payload, webhook.id)),
    );
  }

  /** Sends the genuine notification of a delivery again, freshly signed and without faults. @throws MockError 404 */
  redeliver(id: string): Delivery {
    const earlier = this.#needs.log.get(id);
    if (!earlier) throw new MockError(404, `there is no delivery ${id}`);
    const webhook = this.#needs.registry.withSecret(earlier.webhook_id);
    const parcel = this.#pack(webhook, earlier.notification, { redelivery_of: id });
    this.#needs.postman.deliver(parcel);
    return parcel.delivery;
  }

  reset(): void {
    this.faults = noFaults;
    this.#reordering.clear();
    this.#needs.postman.recall();
    this.#needs.log.clear();
  }

  #send(webhook: CreatedWebhook, notification: JsonObject): Delivery[] {
    const faults = drawFaults(this.faults, this.#needs.random);
    if (faults.includes('drop')) return [this.#drop(webhook, notification)];
    const parcel = this.#pack(webhook, notification, {
      faults: faults.filter((name) => name !== 'duplicate'),
    });
    this.#post(parcel, faults);
    if (!faults.includes('duplicate')) return [parcel.delivery];
    const copy = this.#pack(webhook, notification, {
      faults: ['duplicate'],
      duplicate_of: parcel.delivery.id,
    });
    this.#needs.postman.deliverAfter(this.#needs.random.int(DUPLICATE_MS), copy);
    return [parcel.delivery, copy.delivery];
  }

  #post(parcel: Parcel, faults: readonly FaultName[]): void {
    const { postman, random } = this.#needs;
    if (faults.includes('delay')) {
      postman.deliverAfter(DELAY_MS.least + random.int(DELAY_MS.most - DELAY_MS.least), parcel);
      return;
    }
    if (faults.includes('reorder') && this.#reordering.delay(parcel)) return;
    postman.deliver(parcel);
    this.#reordering.sendDelayed(parcel.delivery.webhook_id);
  }

  #drop(webhook: CreatedWebhook, notification: JsonObject): Delivery {
    const delivery = {
      ...this.#open(webhook, notification),
      state: 'dropped' as const,
      faults: ['drop' as const],
    };
    this.#needs.log.add(delivery);
    return delivery;
  }

  #pack(webhook: CreatedWebhook, notification: JsonObject, details: Partial<Delivery>): Parcel {
    const { log, pending, random, registry } = this.#needs;
    const delivery = { ...this.#open(webhook, notification), ...details };
    const spoiling = delivery.faults.find(isSpoiling);
    log.add(delivery);
    pending.begin();
    return {
      delivery,
      text: spoiling
        ? spoiled(spoiling, notification, webhook.secret, random)
        : genuine(notification, webhook.secret),
      url: () => registry.urlOf(webhook),
      once: spoiling !== undefined,
    };
  }

  #open(webhook: CreatedWebhook, notification: JsonObject): Delivery {
    return {
      id: this.#needs.log.nextId(),
      webhook_id: webhook.id,
      state: 'pending',
      faults: [],
      duplicate_of: null,
      redelivery_of: null,
      created_at: new Date(this.#needs.clock.now()).toISOString(),
      next_attempt_at: null,
      notification,
      attempts: [],
    };
  }
}

interface Delayed {
  readonly parcel: Parcel;
  readonly cancel: () => void;
}

/** Swaps neighbours: delays a parcel until the next one for the same webhook has gone ahead of it. */
class Reordering {
  readonly #clock: Clock;
  readonly #postman: Postman;
  readonly #delayed = new Map<string, Delayed>();

  constructor(clock: Clock, postman: Postman) {
    this.#clock = clock;
    this.#postman = postman;
  }

  /** @returns false if a parcel for this webhook is delayed already: the new one may overtake that */
  delay(parcel: Parcel): boolean {
    const { webhook_id } = parcel.delivery;
    if (this.#delayed.has(webhook_id)) return false;
    const cancel = this.#clock.after(LONGEST_REORDER_MS, () => this.sendDelayed(webhook_id));
    this.#delayed.set(webhook_id, { parcel, cancel });
    return true;
  }

  /** Sends the delayed parcel of a webhook, if it has one. */
  sendDelayed(webhookId: string): void {
    const delayed = this.#delayed.get(webhookId);
    if (!delayed) return;
    this.#delayed.delete(webhookId);
    delayed.cancel();
    this.#postman.deliver(delayed.parcel);
  }

  clear(): void {
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
  }
}

/** A payload without site_id matches every site; one of an unknown kind matches every webhook of its site. */
function isWanted({ events, site_ids }: Metadata, { event, site_id }: JsonObject): boolean {
  return (
    (!isKind(event) || events.includes(event)) &&
    (site_id === undefined || site_ids.some((one) => one === site_id))
  );
}

/** At the position that the provider uses: some receivers compare the order of members too. */
function withWebhookId(payload: JsonObject, webhook_id: string): JsonObject {
  const entries = Object.entries(payload);
  const place = entries.findIndex(([name]) => name === 'site_id');
  entries.splice(place === -1 ? entries.length : place, 0, ['webhook_id', webhook_id]);
  return Object.fromEntries(entries);
}
