import type { Clock } from '../../base/clock.ts';
import type { JsonObject } from '../../notification/json.ts';
import { isKind } from '../../notification/kinds.ts';
import { MockError } from '../mock-error.ts';
import type { Pending } from '../pending.ts';
import type { Random } from '../random.ts';
import type { Metadata } from '../webhooks/metadata.ts';
import type { CreatedWebhook } from '../webhooks/webhook.ts';
import type { WebhookRegistry } from '../webhooks/webhook-registry.ts';
import type { Delivery } from './delivery.ts';
import { drawFaults, type FaultName, type Faults, isSpoiling, noFaults } from './delivery-faults.ts';
import type { DeliveryLog } from './delivery-log.ts';
import { HeldBack } from './held-back.ts';
import type { Parcel, Postman } from './postman.ts';
import { genuine, spoiled } from './spoil.ts';

/** A delayed delivery waits from one second to a minute; a duplicate follows within five seconds. */
const DELAY_MS = { least: 1000, most: 60_000 };
const DUPLICATE_MS = 5000;

/** What a courier works with. */
export interface CourierParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly registry: WebhookRegistry;
  readonly log: DeliveryLog;
  readonly postman: Postman;
  readonly pending: Pending;
}

/** Decides who gets a notification, and what befalls it on the way. */
export class Courier {
  readonly #parts: CourierParts;
  readonly #heldBack: HeldBack;
  faults: Faults = noFaults;

  constructor(parts: CourierParts) {
    this.#parts = parts;
    this.#heldBack = new HeldBack(parts.clock, parts.postman);
  }

  /**
   * Sends a notification to the webhook that its `webhook_id` names, else to all that match its site and kind.
   * @throws MockError 404 if there is no such webhook
   */
  publish(payload: JsonObject): Delivery[] {
    const { registry } = this.#parts;
    const { webhook_id } = payload;
    if (webhook_id !== undefined) return this.#send(registry.withSecret(String(webhook_id)), payload);
    return [...registry.matching((metadata) => isWanted(metadata, payload))].flatMap((webhook) =>
      this.#send(webhook, withWebhookId(payload, webhook.id)),
    );
  }

  /** Sends a delivery's genuine notification once more, freshly signed and without faults. @throws MockError 404 */
  redeliver(id: string): Delivery {
    const earlier = this.#parts.log.get(id);
    if (!earlier) throw new MockError(404, `there is no delivery ${id}`);
    const webhook = this.#parts.registry.withSecret(earlier.webhook_id);
    const parcel = this.#pack(webhook, earlier.notification, { redelivery_of: id });
    this.#parts.postman.deliver(parcel);
    return parcel.delivery;
  }

  reset(): void {
    this.faults = noFaults;
    this.#heldBack.clear();
    this.#parts.postman.recall();
    this.#parts.log.clear();
  }

  #send(webhook: CreatedWebhook, notification: JsonObject): Delivery[] {
    const faults = drawFaults(this.faults, this.#parts.random);
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
    this.#parts.postman.deliverAfter(this.#parts.random.int(DUPLICATE_MS), copy);
    return [parcel.delivery, copy.delivery];
  }

  #post(parcel: Parcel, faults: readonly FaultName[]): void {
    const { postman, random } = this.#parts;
    if (faults.includes('delay')) {
      postman.deliverAfter(DELAY_MS.least + random.int(DELAY_MS.most - DELAY_MS.least), parcel);
      return;
    }
    if (faults.includes('reorder') && this.#heldBack.hold(parcel)) return;
    postman.deliver(parcel);
    this.#heldBack.release(parcel.delivery.webhook_id);
  }

  #drop(webhook: CreatedWebhook, notification: JsonObject): Delivery {
    const delivery = {
      ...this.#open(webhook, notification),
      state: 'dropped' as const,
      faults: ['drop' as const],
    };
    this.#parts.log.add(delivery);
    return delivery;
  }

  #pack(webhook: CreatedWebhook, notification: JsonObject, details: Partial<Delivery>): Parcel {
    const { log, pending, random, registry } = this.#parts;
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
      id: this.#parts.log.nextId(),
      webhook_id: webhook.id,
      state: 'pending',
      faults: [],
      duplicate_of: null,
      redelivery_of: null,
      created_at: new Date(this.#parts.clock.now()).toISOString(),
      next_attempt_at: null,
      notification,
      attempts: [],
    };
  }
}

/** A member that is absent does not restrict, and a kind that nobody can subscribe to goes to all of a site. */
function isWanted({ events, site_ids }: Metadata, { event, site_id }: JsonObject): boolean {
  return (
    (!isKind(event) || events.includes(event)) &&
    (site_id === undefined || site_ids.some((one) => one === site_id))
  );
}

/** In the place where the provider has it: receivers exist that compare the order of members too. */
function withWebhookId(payload: JsonObject, webhook_id: string): JsonObject {
  const entries = Object.entries(payload);
  const place = entries.findIndex(([name]) => name === 'site_id');
  entries.splice(place === -1 ? entries.length : place, 0, ['webhook_id', webhook_id]);
  return Object.fromEntries(entries);
}
