import { KitError } from '../base/errors.ts';
import { sentBack } from '../cli/webhooks/metadata.ts';
import { retireSecrets } from '../cli/webhooks/retire.ts';
import { findWebhook, isNotFound } from '../provider/find-webhook.ts';
import type { Webhook } from '../provider/index.ts';
import { beginSuccessor } from './begin-successor.ts';
import { findBegun, removeOrphans } from './find-begun.ts';
import type { RotationParts } from './rotation-options.ts';
import { markerOf, replacedBy, withMarker, withoutMarker } from './successor-mark.ts';

/** What a rotation came to. */
export interface Rotated {
  /** the webhook in the place of the old one; undefined where an earlier run had done everything */
  readonly id: string | undefined;
  readonly replaced: string;
  /** when the old secret retires, milliseconds since the epoch; undefined where none was stored */
  readonly oldSecretUntil: number | undefined;
}

/**
 * Replaces a webhook by a new one that differs only in its id and secret. At every moment one of the two sends what
 * happens, and what either of them sends is verified: while both do, the receiver takes it for one event. Each step can
 * be done again, so a run that was cut short is completed by the next.
 * @throws KitError WEBHOOK_UNKNOWN, ROTATION_STOPPED
 * @throws ProviderError
 */
export async function rotate(id: string, parts: RotationParts): Promise<Rotated> {
  const old = await findWebhook(parts.client, id, parts.signal);
  const begun = await findBegun(id, parts);
  if (old) refuseSuccessor(old);
  if (old || begun.successor) await removeOrphans(begun.orphans, parts);
  if (!old) return finishWithoutOld(id, begun.successor, parts);
  const successor = begun.successor ?? (await beginSuccessor(old, parts));
  const whole = await makeWhole(successor, old, parts);
  await deleteOld(id, parts);
  return finish(id, whole, parts);
}

/** Only the last steps are left, if the successor is whole; they need nothing of the old webhook. */
async function finishWithoutOld(
  id: string,
  successor: Webhook | undefined,
  parts: RotationParts,
): Promise<Rotated> {
  if (!successor) return nothingLeft(id, parts);
  const { metadata } = successor;
  if (markerOf(metadata.description)?.whole || metadata.site_ids.length > 0)
    return finish(id, successor, parts);
  throw new KitError(
    'ROTATION_STOPPED',
    `webhook ${id} was deleted before its successor ${successor.id} had its sites: give them with npx hookkit webhooks update ${successor.id} --site ..., then rotate ${id} again`,
  );
}

/** A secret that retires and no webhook: that is how a complete rotation leaves the old one. */
async function nothingLeft(id: string, { store }: RotationParts): Promise<Rotated> {
  const ends = (await store.secrets())
    .filter(({ webhookId }) => webhookId === id)
    .map(({ retireAt }) => retireAt);
  const times = ends.filter((time) => time !== undefined);
  if (times.length > 0 && times.length === ends.length) {
    return { id: undefined, replaced: id, oldSecretUntil: Math.max(...times) };
  }
  throw new KitError(
    'WEBHOOK_UNKNOWN',
    `the provider has no webhook ${id}, nor one with a stored secret that was to replace it: see npx hookkit webhooks list`,
  );
}

function refuseSuccessor({ id, metadata }: Webhook): void {
  const replaced = replacedBy(metadata.description);
  if (replaced === undefined) return;
  throw new KitError(
    'ROTATION_STOPPED',
    `webhook ${id} is itself half-way through replacing ${replaced}: run npx hookkit webhooks rotate ${replaced} first`,
  );
}

/** @throws KitError ROTATION_STOPPED if the provider does not show it whole; the old one is there still */
async function makeWhole(successor: Webhook, old: Webhook, parts: RotationParts): Promise<Webhook> {
  const wanted = sentBack(old.metadata);
  const description = withMarker(old.metadata.description, { replaces: old.id, whole: true });
  const whole = await parts.client.update(successor.id, { ...wanted, description }, { signal: parts.signal });
  const has = (mine: readonly string[], theirs: readonly string[]) =>
    theirs.every((one) => mine.includes(one));
  const { site_ids, events, webhook_url } = whole.metadata;
  if (has(site_ids, wanted.site_ids) && has(events, wanted.events) && webhook_url === wanted.webhook_url) {
    parts.onStep(`webhook ${successor.id} now sends what ${old.id} does`);
    return whole;
  }
  throw new KitError(
    'ROTATION_STOPPED',
    `the provider did not give webhook ${successor.id} all that ${old.id} has, so ${old.id} stays: run the same command again`,
  );
}

async function deleteOld(id: string, { client, signal, onStep }: RotationParts): Promise<void> {
  await client.delete(id, { signal }).catch((error) => {
    if (!isNotFound(error)) throw error;
  });
  onStep(`webhook ${id} is deleted at the provider`);
}

/** The mark goes last: until then, another run finds what is left to do. */
async function finish(id: string, whole: Webhook, parts: RotationParts): Promise<Rotated> {
  const oldSecretUntil = await retireSecrets(id, parts);
  if (oldSecretUntil !== undefined) {
    parts.onStep(`the secret of webhook ${id} verifies until ${new Date(oldSecretUntil).toISOString()}`);
  }
  const metadata = sentBack(whole.metadata);
  const description = withoutMarker(whole.metadata.description);
  await parts.client.update(whole.id, { ...metadata, description }, { signal: parts.signal });
  return { id: whole.id, replaced: id, oldSecretUntil };
}
