import type { Clock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import {
  allWebhooks,
  findWebhook,
  isNotFound,
  ProviderError,
  sentBack,
  type Webhook,
  type WebhooksClient,
} from '../provider/index.ts';
import type { EventStore } from '../store/event-store.ts';
import { retireSecrets } from './retire-secrets.ts';
import { markerOf, replacedBy, withMarker, withoutMarker } from './successor-mark.ts';

/** The dependencies of a rotation. */
export interface RotationOptions {
  readonly client: WebhooksClient;
  readonly store: EventStore;
  readonly clock: Clock;
  /** how long the old secret still verifies */
  readonly graceMs: number;
  readonly signal: AbortSignal;
  /** called after each step */
  readonly onStep: (step: string) => void;
}

/** The result of a rotation. */
export interface Rotated {
  /** the new webhook; undefined if an earlier run had done everything */
  readonly id: string | undefined;
  readonly replaced: string;
  /** when the old secret retires, milliseconds since the epoch; undefined where none was stored */
  readonly oldSecretUntil: number | undefined;
}

/**
 * Replaces a webhook by a new one that differs only in its id and secret. At every moment one of the two sends
 * notifications, and the receiver verifies both; when both send the same, it records one event. Each step can be
 * repeated, so a run that ended early is completed by the next run.
 * @throws KitError WEBHOOK_UNKNOWN, ROTATION_STOPPED
 * @throws ProviderError
 */
export async function rotate(id: string, options: RotationOptions): Promise<Rotated> {
  const old = await findWebhook(options.client, id, options.signal);
  const begun = await findBegun(id, options);
  if (old) refuseSuccessor(old);
  if (old || begun.successor) await removeOrphans(begun.orphans, options);
  if (!old) return finishWithoutOld(id, begun.successor, options);
  const successor = begun.successor ?? (await beginSuccessor(old, options));
  const whole = await makeWhole(successor, old, options);
  await deleteOld(id, options);
  return finish(id, whole, options);
}

/** The state that earlier runs of a rotation have left. */
interface Begun {
  /** the successor whose secret is stored: the rotation continues with it */
  readonly successor: Webhook | undefined;
  /** other successors, which are useless: a run ended before it had stored their secret */
  readonly orphans: readonly Webhook[];
}

/** Looks for webhooks that are marked as the successor of `id`. @throws ProviderError */
async function findBegun(id: string, { client, store, signal }: RotationOptions): Promise<Begun> {
  const marked = (await allWebhooks(client, signal)).filter(
    ({ metadata }) => replacedBy(metadata.description) === id,
  );
  const secrets = await store.secrets();
  const isLive = ({ id: webhook }: Webhook) =>
    secrets.some(({ webhookId, retireAt }) => webhookId === webhook && retireAt === undefined);
  const successor = marked.find(isLive);
  return { successor, orphans: marked.filter((webhook) => webhook !== successor) };
}

/** Deletes the useless successors of earlier runs. @throws ProviderError */
async function removeOrphans(orphans: readonly Webhook[], options: RotationOptions): Promise<void> {
  for (const { id } of orphans) {
    await options.client.delete(id, { signal: options.signal });
    await retireSecrets(id, options); // two runs at once may both have stored one
    options.onStep(`webhook ${id}, which an earlier run left behind, is deleted`);
  }
}

/**
 * Creates the successor of a webhook and stores its secret. The answer to the creation is the first to tell the secret, so
 * the successor gets no sites at first: it sends nothing before its secret is stored.
 * @throws ProviderError
 */
async function beginSuccessor(old: Webhook, options: RotationOptions): Promise<Webhook> {
  const { secret, ...successor } = await create(old, options);
  await options.store.addSecret(successor.id, secret);
  options.onStep(`the secret of webhook ${successor.id} is stored`);
  return successor;
}

async function create(old: Webhook, { client, signal, onStep }: RotationOptions) {
  const whole = sentBack(old.metadata);
  const described = (isWhole: boolean) =>
    withMarker(whole.description ?? '', { replaces: old.id, whole: isWhole });
  try {
    const inert = { ...whole, site_ids: [], description: described(false) };
    const created = await client.create(inert, { signal });
    onStep(`webhook ${created.id} is registered, without sites yet`);
    return created;
  } catch (error) {
    if (!isRefused(error)) throw error;
    // Notifications that it sends before its secret is stored wait in quarantine, and are admitted from there.
    const created = await client.create({ ...whole, description: described(true) }, { signal });
    onStep(
      `webhook ${created.id} is registered, with all sites: the provider refuses a webhook without sites`,
    );
    return created;
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof ProviderError && (error.status === 400 || error.status === 422);
}

/** Does the last steps, which need nothing of the old webhook, if the successor is whole. */
async function finishWithoutOld(
  id: string,
  successor: Webhook | undefined,
  options: RotationOptions,
): Promise<Rotated> {
  if (!successor) return nothingLeft(id, options);
  const { metadata } = successor;
  if (markerOf(metadata.description)?.whole || metadata.site_ids.length > 0)
    return finish(id, successor, options);
  throw new KitError(
    'ROTATION_STOPPED',
    `webhook ${id} was deleted before its successor ${successor.id} had its sites: give them with npx hookkit webhooks update ${successor.id} --site ..., then rotate ${id} again`,
  );
}

/** A complete rotation leaves a retiring secret without a webhook. */
async function nothingLeft(id: string, { store }: RotationOptions): Promise<Rotated> {
  const ends = (await store.secrets())
    .filter(({ webhookId }) => webhookId === id)
    .map(({ retireAt }) => retireAt);
  const times = ends.filter((time) => time !== undefined);
  if (times.length > 0 && times.length === ends.length) {
    return { id: undefined, replaced: id, oldSecretUntil: Math.max(...times) };
  }
  throw new KitError(
    'WEBHOOK_UNKNOWN',
    `the provider has no webhook ${id}, and no webhook with a stored secret replaces it: see npx hookkit webhooks list`,
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
async function makeWhole(successor: Webhook, old: Webhook, options: RotationOptions): Promise<Webhook> {
  const wanted = sentBack(old.metadata);
  const description = withMarker(old.metadata.description, { replaces: old.id, whole: true });
  const whole = await options.client.update(
    successor.id,
    { ...wanted, description },
    { signal: options.signal },
  );
  const has = (mine: readonly string[], theirs: readonly string[]) =>
    theirs.every((one) => mine.includes(one));
  const { site_ids, events, webhook_url } = whole.metadata;
  if (has(site_ids, wanted.site_ids) && has(events, wanted.events) && webhook_url === wanted.webhook_url) {
    options.onStep(`webhook ${successor.id} now has the sites, events and URL of ${old.id}`);
    return whole;
  }
  throw new KitError(
    'ROTATION_STOPPED',
    `the provider did not give webhook ${successor.id} all settings of ${old.id}, so ${old.id} stays: run the same command again`,
  );
}

async function deleteOld(id: string, { client, signal, onStep }: RotationOptions): Promise<void> {
  await client.delete(id, { signal }).catch((error) => {
    if (!isNotFound(error)) throw error;
  });
  onStep(`webhook ${id} is deleted at the provider`);
}

/** Removes the mark last: until then, another run finds what is left to do. */
async function finish(id: string, whole: Webhook, options: RotationOptions): Promise<Rotated> {
  const oldSecretUntil = await retireSecrets(id, options);
  if (oldSecretUntil !== undefined) {
    options.onStep(`the secret of webhook ${id} verifies until ${new Date(oldSecretUntil).toISOString()}`);
  }
  const metadata = sentBack(whole.metadata);
  const description = withoutMarker(whole.metadata.description);
  await options.client.update(whole.id, { ...metadata, description }, { signal: options.signal });
  return { id: whole.id, replaced: id, oldSecretUntil };
}
