import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { WebhooksClient } from '../../src/provider/index.ts';
import { rotate } from '../../src/rotation/rotate.ts';
import { type Installation, install, SITE } from '../support/installation.ts';

const URL = 'https://your.host/webhooks/media';
let here: Installation;
beforeEach(async () => {
  here = await install();
});
afterEach(() => here.dispose());

/** A rotation in this process. */
async function rotateHere(id: string) {
  const store = await here.openStore();
  const { url: baseUrl } = here.provider;
  const client = new WebhooksClient({ baseUrl, apiSecret: here.mock.apiSecret, maxAttempts: 1 });
  const { signal } = new AbortController();
  try {
    const options = { client, store, clock: systemClock, graceMs: 60_000, signal, onStep: () => undefined };
    return { ...(await rotate(id, options)), secrets: await store.secrets() };
  } finally {
    await store.close();
  }
}

async function storeSecret(id: string, secret: string): Promise<void> {
  const store = await here.openStore();
  await store.addSecret(id, secret);
  await store.close();
}

function marked(description: string, site_ids: string[]) {
  const events = ['media_created' as const];
  return here.mock.createWebhook({ name: 'successor', webhook_url: URL, events, site_ids, description });
}

test('creates the successor whole, when the provider refuses one without sites, and keeps kinds that are new', async () => {
  const old = here.foreignWebhook(URL);
  const added: string[] = [];
  here.provider.intercept = async ({ method, body }, forward) => {
    if (method === 'GET') {
      const answer = await forward();
      return { ...answer, body: answer.body.replace('"media_created"', '"media_created","media_exploded"') };
    }
    if (method === 'POST' && body.includes('"site_ids":[]')) return { status: 422, body: '{}' };
    if (method === 'POST') added.push(body);
    return { status: 403, body: '{}' };
  };
  await expect(rotateHere(old.id)).rejects.toMatchObject({ code: 'forbidden' });
  expect(added).toEqual([expect.stringMatching(`media_exploded.*${SITE}`)]);
  here.provider.intercept = async ({ method, body }, forward) =>
    method === 'POST' && body.includes('"site_ids":[]') ? { status: 400, body: '{}' } : forward();
  const { id, secrets, oldSecretUntil } = await rotateHere(old.id);
  expect(here.mock.listWebhooks()).toMatchObject([{ id, metadata: old.metadata }]);
  expect(secrets.map(({ webhookId }) => webhookId)).toEqual([id]);
  expect(oldSecretUntil).toBeUndefined(); // it was not stored here
});

test('keeps the old one, when the provider does not give the successor its sites', async () => {
  const old = here.foreignWebhook(URL);
  here.provider.intercept = async ({ method }, forward) => {
    const { status, body } = await forward();
    return { status, body: method === 'PATCH' ? body.replace(`["${SITE}"]`, '[]') : body };
  };
  await expect(rotateHere(old.id)).rejects.toMatchObject({ code: 'ROTATION_STOPPED' });
  expect(here.mock.listWebhooks().map(({ id }) => id)).toContain(old.id);
});

test('takes away what earlier runs have left behind without its secret, and no other webhook', async () => {
  const old = here.foreignWebhook(URL);
  for (const sites of [[], [SITE]]) marked(`[hookkit: replaces ${old.id}]`, sites);
  const others = ['mine', '[hookkit: replaces other000]'].map((text) => marked(text, []).id);
  const { id } = await rotateHere(old.id);
  expect(here.mock.listWebhooks().map((webhook) => webhook.id)).toEqual([...others, id]);
});

test('refuses, when the webhook is half-way a successor, or nothing is known of it', async () => {
  const { id } = marked('[hookkit: replaces old00000]', []);
  await expect(rotateHere(id)).rejects.toThrow(/rotate old00000 first/);
  await storeSecret('gone0000', 'the-secret-of-the-old-one-0123456789');
  await expect(rotateHere('gone0000')).rejects.toMatchObject({ code: 'WEBHOOK_UNKNOWN' });
});

test('asks for the sites, when the old one was deleted before the successor had them, and then finishes', async () => {
  const successor = marked('as it was [hookkit: replaces old00000]', []);
  await storeSecret(successor.id, successor.secret);
  await expect(rotateHere('old00000')).rejects.toThrow(`webhooks update ${successor.id} --site`);
  await here.cli(['webhooks', 'update', successor.id, '--site', SITE]);
  expect(await rotateHere('old00000')).toMatchObject({ id: successor.id });
  const metadata = { description: 'as it was', site_ids: [SITE] };
  expect(here.mock.listWebhooks()).toMatchObject([{ metadata }]);
});
