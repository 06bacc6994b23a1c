import type { Account } from './accounts.ts';
import type { Call, Parts } from './call.ts';
import type { Made } from './idempotency-keys.ts';
import { isBlank, scalar } from './scalars.ts';
import { scheduledStatusEntity } from './scheduled-status.ts';
import { statusEntity } from './status-entity.ts';

/**
 * `POST /api/v1/statuses`: schedules with a `scheduled_at`, publishes at once without. A key that was used within the
 * hour gets what it made then, as it is now.
 * @throws ApiError 404 or 422
 */
export function createStatus(call: Call, parts: Parts) {
  const { account, idempotencyKey } = call;
  const known = idempotencyKey === '' ? undefined : parts.keys.find(account, idempotencyKey);
  const made = known ?? make(call, parts);
  if (known === undefined && idempotencyKey !== '') parts.keys.remember(account, idempotencyKey, made);
  return show(made, account, call, parts);
}

function make({ account, token, parameters }: Call, { drafts, scheduled, statuses }: Parts): Made {
  const draft = drafts.read(account, token.application, parameters);
  const { scheduled_at: at } = parameters;
  const atOnce = at === undefined || at === null || (typeof at === 'string' && isBlank(scalar(at)));
  return atOnce
    ? { kind: 'published', id: statuses.publish(draft).id }
    : { kind: 'scheduled', id: scheduled.schedule(draft, at).id };
}

function show({ kind, id }: Made, account: Account, { origin }: Call, parts: Parts) {
  return kind === 'scheduled'
    ? scheduledStatusEntity(parts.scheduled.find(account, String(id)))
    : statusEntity(parts.statuses.find(String(id), account), origin, parts.clock.now());
}
