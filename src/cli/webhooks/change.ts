import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { type Config, loadConfig } from '../../config.ts';
import { type Kind, kindNames } from '../../notification/kinds.ts';
import { sentBack, type WebhooksClient } from '../../provider/index.ts';
import { admitWaiting } from '../../receiver/admissions.ts';
import { createWebhook as create, deleteWebhook, retireSecrets } from '../../rotation/create-and-delete.ts';
import { keepingMark, rotate } from '../../rotation/rotate.ts';
import { readStandings, viewOf } from '../../rotation/webhook-view.ts';
import type { EventStore } from '../../store/event-store.ts';
import { isoOrNull } from '../../store/lists/event-json.ts';
import { withDatabase, withStore } from '../../store/open.ts';
import { readSecret } from '../input.ts';
import { interruptible, uninterrupted } from '../interruptible.ts';
import { print, printJson, printJsonLine, say } from '../output.ts';
import { printWebhook, standingsOf, webhooksClient } from './show.ts';

interface Metadata {
  readonly name?: string;
  readonly url?: string;
  readonly site?: readonly string[];
  readonly event?: readonly Kind[];
  readonly allEvents?: true;
  readonly description?: string;
  readonly json?: true;
}

/** The settings that are given. */
function metadataOf({ name, url, site, event, allEvents, description }: Metadata) {
  const events = allEvents ? kindNames : event;
  return {
    ...(name !== undefined && { name }),
    ...(url !== undefined && { webhook_url: url }),
    ...(site && { site_ids: [...new Set(site)] }),
    ...(events && { events: [...new Set(events)] }),
    ...(description !== undefined && { description }),
  };
}

export async function createWebhook(
  flags: Metadata & { readonly name: string; readonly url: string },
): Promise<void> {
  const { name, url: webhook_url } = flags;
  const { site_ids = [], events, ...rest } = metadataOf(flags);
  if (!events) throw new KitError('INPUT_INVALID', 'a new webhook needs --event or --all-events as well');
  const webhook = { ...rest, name, webhook_url, site_ids, events };
  const config = loadConfig();
  const client = webhooksClient(config);
  // Opened first, so that an unusable store shows before anything is registered.
  await withStore(config, async (store) => {
    const { id } = await uninterrupted(() => create(webhook, { client, store }));
    // Notifications that came between the creation and the storing are in quarantine.
    const admitted = await admitWaiting(store, config, id);
    if (flags.json) return printJson({ id, ...webhook, secret: 'live', admitted });
    await print(`webhook ${id} is registered, and its secret is stored`);
  });
}

export async function updateWebhook(id: string, flags: Metadata): Promise<void> {
  const config = loadConfig();
  const change = metadataOf(flags);
  if (Object.keys(change).length === 0)
    throw new KitError('INPUT_INVALID', 'nothing to change: give an option with a new value');
  const client = webhooksClient(config);
  const standings = await standingsOf(config); // before anything is changed, as it may fail
  const { metadata } = await client.get(id);
  const description = keepingMark(metadata.description, change.description);
  const webhook = await client.update(id, { ...sentBack(metadata), ...change, description });
  await printWebhook(viewOf(id, webhook, standings), flags);
}

interface Import {
  readonly id: string;
  readonly secretFile?: string;
  readonly replace?: true;
  readonly json?: true;
}

export async function importSecret({ id, secretFile, replace, json }: Import): Promise<void> {
  const config = loadConfig();
  const secret = await readSecret(secretFile);
  await withStore(config, async (store) => {
    const before = await store.quarantineSize(id);
    await store.addSecret(id, secret);
    const retired =
      replace && (await retireSecrets(store, { id, at: systemClock.now(), kept: secret })).length;
    const here = await admitWaiting(store, config, id);
    const waiting = await store.quarantineSize(id);
    const admitted = Math.max(here, before - waiting); // a server that runs admits some of them
    if (waiting > 0)
      say(`${waiting} notifications of webhook ${id} stay in quarantine: this secret verifies none of them`);
    if (json) return printJsonLine({ id, stored: true, ...(replace && { retired }), admitted, waiting });
    const others = replace ? `; ${retired} others are retired` : '';
    await print(`the secret of webhook ${id} is stored; ${admitted} notifications admitted${others}`);
  });
}

interface Retirement {
  /** how long the secret still verifies, in milliseconds */
  readonly grace: number;
  readonly json?: true;
}

export async function rotateSecret(id: string, { grace: graceMs, json }: Retirement): Promise<void> {
  await withBoth(async ({ client, store, config }) => {
    const again = `run npx hookkit webhooks rotate ${id} again, and it continues from here`;
    let isBegun = false;
    const onStep = (step: string) => {
      isBegun = true;
      say(step);
    };
    const rotated = await interruptible(again, (signal) =>
      rotate(id, { client, store, clock: systemClock, graceMs, signal, onStep }),
    ).catch((error) => {
      if (isBegun) say(`the rotation is not complete: ${again}`);
      throw error;
    });
    const { id: successor, replaced } = rotated;
    const until = isoOrNull(rotated.oldSecretUntil);
    const end = await endInWords(replaced, { until, store, config });
    if (json) return printJson({ id: successor ?? null, replaced, old_secret_until: until });
    const what = successor === undefined ? 'was replaced already' : `is replaced by ${successor}`;
    await print(`webhook ${replaced} ${what}; the old secret ${end}`);
  });
}

export async function removeWebhook(id: string, { grace: graceMs, json }: Retirement): Promise<void> {
  await withBoth(async ({ client, store, config }) => {
    const deleted = await deleteWebhook(id, { client, store, clock: systemClock, graceMs });
    const until = isoOrNull(deleted.secretUntil);
    const end = await endInWords(id, { until, store, config });
    if (json) return printJson({ id, deleted: deleted.isDeleted, secret_until: until });
    const what = deleted.isDeleted ? 'is deleted' : 'was gone at the provider already';
    await print(`webhook ${id} ${what}; its secret ${end}`);
  });
}

interface Both {
  readonly client: WebhooksClient;
  readonly store: EventStore;
  readonly config: Config;
}

async function withBoth(work: (both: Both) => Promise<void>): Promise<void> {
  const config = loadConfig();
  const client = webhooksClient(config);
  await withDatabase(config, (store) => work({ client, store, config }));
}

interface Ending extends Omit<Both, 'client'> {
  /** when the last stored secret retires; null if none is live */
  readonly until: string | null;
}

/** How the secret of a webhook ends that was deleted or replaced. Warns where WEBHOOK_SECRET goes on verifying. */
async function endInWords(id: string, { until, store, config }: Ending): Promise<string> {
  const { state, hadOwn } = (await readStandings(store, config)).of(id);
  if (state === 'environment')
    say(
      `WEBHOOK_SECRET still verifies for ${id}: remove it from the environment once ${id} sends nothing more`,
    );
  if (until !== null) return `verifies until ${until}`;
  return hadOwn ? 'verifies nothing any more' : 'was never stored';
}
