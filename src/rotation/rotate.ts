import type { Clock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import {
  type NewWebhook,
  ProviderError,
  sentBack,
  type Webhook,
  type WebhooksClient,
} from '../provider/index.ts';
import type { EventStore, WebhookSecret } from '../store/event-store.ts';
import { retireSecrets, unknownWebhook } from './create-and-delete.ts';

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
  const { client, store, clock, graceMs, signal, onStep } = options;
  const all = await Array.fromAsync(client.list({}, { signal }));
  const old = all.find((webhook) => webhook.id === id);
  const half = old && replacedBy(old.metadata.description);
  if (half) throw stopped(`webhook ${id} is half-way through replacing ${half}: rotate ${half} first`);
  // What earlier runs have left. A successor is of use if its secret was stored before the run ended.
  const marked = all.filter(({ metadata }) => replacedBy(metadata.description) === id);
  const secrets = await store.secrets.live();
  const isLive = (webhook: Webhook) =>
    secrets.some(({ webhookId, retireAt }) => webhookId === webhook.id && retireAt === undefined);
  const begun = marked.find(isLive);
  const known = old ?? begun;
  if (!known) return nothingLeft(id, secrets);
  for (const orphan of marked.filter((webhook) => webhook !== begun)) {
    await client.delete(orphan.id, { signal });
    // Two runs at once may both have stored one.
    await retireSecrets(store, { id: orphan.id, at: clock.now() + graceMs });
    onStep(`webhook ${orphan.id}, which an earlier run left behind, is deleted`);
  }
  const successor = begun ?? (await begin(known, options));
  const whole = old ? await replace(old, successor, options) : notInert(successor, id);
  const oldSecretUntil = (await retireSecrets(store, { id, at: clock.now() + graceMs })).at(-1);
  if (oldSecretUntil !== undefined)
    onStep(`the secret of webhook ${id} verifies until ${new Date(oldSecretUntil).toISOString()}`);
  // Removed last: until then, another run finds what is left to do.
  const description = withoutMark(whole.metadata.description);
  await client.update(whole.id, { ...sentBack(whole.metadata), description }, { signal });
  return { id: whole.id, oldSecretUntil };
}

/**
 * Creates the successor of a webhook and stores its secret. The answer to the creation is the first to tell the secret, so
 * the successor gets no sites at first: it sends nothing before its secret is stored.
 */
async function begin(old: Webhook, { client, store, signal, onStep }: RotationOptions): Promise<Webhook> {
  const whole = successorOf(old);
  const { secret, ...successor } = await client
    .create({ ...whole, site_ids: [] }, { signal })
    .catch((error) => {
      if (!(error instanceof ProviderError) || (error.status !== 400 && error.status !== 422)) throw error;
      // Notifications that it sends before its secret is stored wait in quarantine, and are admitted from there.
      return client.create(whole, { signal });
    });
  const sites = successor.metadata.site_ids.length === 0 ? 'without sites yet' : 'with all sites';
  onStep(`webhook ${successor.id} is registered, ${sites}`);
  await store.secrets.add(successor.id, secret);
  onStep(`the secret of webhook ${successor.id} is stored`);
  return successor;
}

function successorOf({ id, metadata }: Webhook): NewWebhook {
  return { ...sentBack(metadata), description: withMark(metadata.description, id) };
}

/** Gives the successor all settings, then deletes the old webhook. @throws KitError ROTATION_STOPPED, with the old one there still */
async function replace(old: Webhook, successor: Webhook, options: RotationOptions): Promise<Webhook> {
  const { client, signal, onStep } = options;
  const wanted = successorOf(old);
  const whole = await client.update(successor.id, wanted, { signal });
  const { site_ids, events, webhook_url } = whole.metadata;
  const isWhole =
    wanted.site_ids.every((site) => site_ids.includes(site)) &&
    wanted.events.every((kind) => events.includes(kind)) &&
    webhook_url === wanted.webhook_url;
  if (!isWhole)
    throw stopped(`the provider did not give webhook ${whole.id} all settings of ${old.id}: try again`);
  onStep(`webhook ${successor.id} now has the sites, events and URL of ${old.id}`);
  await client.delete(old.id, { signal });
  onStep(`webhook ${old.id} is deleted at the provider`);
  return whole;
}

/** The successor of a webhook that is gone. @throws KitError ROTATION_STOPPED if it would get no notification */
function notInert(successor: Webhook, replaced: string): Webhook {
  const { id, metadata } = successor;
  if (metadata.site_ids.length > 0) return successor;
  const next = `npx hookkit webhooks update ${id} --site ..., then rotate ${replaced} again`;
  throw stopped(`webhook ${replaced} was deleted before its successor ${id} had its sites: ${next}`);
}

function stopped(message: string): KitError {
  return new KitError('ROTATION_STOPPED', message);
}

/** A complete rotation leaves a retiring secret without a webhook. */
function nothingLeft(id: string, secrets: readonly WebhookSecret[]): Rotated {
  const own = secrets.filter(({ webhookId }) => webhookId === id);
  const last = Math.max(...own.map(({ retireAt = Number.POSITIVE_INFINITY }) => retireAt));
  if (Number.isFinite(last)) return { id: undefined, oldSecretUntil: last };
  throw unknownWebhook(id);
}

/**
 * The mark of a webhook that replaces another one, at the end of its description. By the mark, any later run finds a
 * rotation that ended early. The end of the rotation removes it.
 */
const MARK = /\s*\[hookkit: replaces ([\w-]+)\]\s*$/;

/** A description with the mark of the webhook that is replaced, instead of the mark that it has. */
function withMark(description: string, replaced: string): string {
  return `${withoutMark(description)} [hookkit: replaces ${replaced}]`.trimStart();
}

/** The description as its owner wrote it. */
function withoutMark(description: string): string {
  return description.replace(MARK, '');
}

/** The webhook that one with this description is being made to replace. */
export function replacedBy(description: string): string | undefined {
  return MARK.exec(description)?.[1];
}

/** A new description with the mark of the old one; the old one where there is none. */
export function keepingMark(old: string, description = withoutMark(old)): string {
  const replaced = replacedBy(old);
  return replaced === undefined ? description : withMark(description, replaced);
}
