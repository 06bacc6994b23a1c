import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { WebhooksClient } from '../../src/provider/index.ts';
import { rotate } from '../../src/rotation/rotate.ts';
import { keepingMark, replacedBy, withMark, withoutMark } from '../../src/rotation/successor-mark.ts';
import { SITE } from '../support/installation.ts';
import { type InstallationOnEngine, installOnEngine } from '../support/installation-on-engine.ts';

const URL = 'https://your.host/webhooks/media';
let here: InstallationOnEngine;
beforeEach(async () => {
  here = await installOnEngine();
});
afterEach(() => here.dispose());

/** A rotation in this process. */
async function rotateHere(id: string) {
  const store = await here.openStore();
  const steps: string[] = [];
  try {
    const rotated = await rotate(id, {
      client: new WebhooksClient({
        baseUrl: here.provider.url,
        apiSecret: here.mock.apiSecret,
        maxAttempts: 1,
      }),
      store,
      clock: systemClock,
      graceMs: 60_000,
      signal: new AbortController().signal,
      onStep: (step) => steps.push(step),
    });
    return { ...rotated, steps, secrets: await store.secrets() };
  } finally {
    await store.close();
  }
}

async function storeSecret(id: string, secret: string): Promise<void> {
  await here.cli(['webhooks', 'import', '--id', id], { stdin: secret });
}

function marked(description: string, site_ids: string[]) {
  return here.mock.createWebhook({
    name: 'successor',
    webhook_url: URL,
    events: ['media_created'],
    site_ids,
    description,
  });
}

test.each([400, 422])(
  'creates the successor whole, when the provider answers %d to one without sites',
  async (status) => {
    const old = here.foreignWebhook(URL);
    here.provider.intercept = async ({ method, body }, forward) =>
      method === 'POST' && body.includes('"site_ids":[]') ? { status, body: '{}' } : forward();
    const { id, secrets, oldSecretUntil } = await rotateHere(old.id);
    expect(here.mock.listWebhooks()).toMatchObject([{ id, metadata: old.metadata }]);
    expect(secrets.map(({ webhookId }) => webhookId)).toEqual([id]);
    expect(oldSecretUntil).toBeUndefined(); // it was not stored here
  },
);

test('gives up without a trace, when the provider is not allowed to make webhooks', async () => {
  const old = here.foreignWebhook(URL);
  here.provider.intercept = async ({ method }, forward) =>
    method === 'POST' ? { status: 403, body: '{}' } : forward();
  await expect(rotateHere(old.id)).rejects.toMatchObject({ code: 'forbidden' });
  expect(here.mock.listWebhooks()).toMatchObject([{ id: old.id }]);
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

test('keeps kinds that this version does not know, when the webhook has some', async () => {
  const old = here.foreignWebhook(URL);
  here.provider.intercept = async ({ method, body }, forward) => {
    if (method === 'GET') {
      const answer = await forward();
      return { ...answer, body: answer.body.replace('"media_created"', '"media_exploded"') };
    }
    if (method !== 'DELETE') expect(body).toContain('"media_exploded"');
    return { status: 404, body: '{}' };
  };
  await expect(rotateHere(old.id)).rejects.toMatchObject({ code: 'not_found' });
});

test('refuses, when the webhook is itself half-way a successor', async () => {
  const { id } = marked('[hookkit: replaces old00000]', []);
  await expect(rotateHere(id)).rejects.toThrow(/rotate old00000 first/);
});

test('finishes, when the old one is gone and the successor is whole', async () => {
  const successor = marked('as it was [hookkit: replaces old00000]', [SITE]);
  await storeSecret(successor.id, successor.secret);
  await storeSecret('old00000', 'the-secret-of-the-old-one-0123456789');
  const { id, oldSecretUntil } = await rotateHere('old00000');
  expect(id).toBe(successor.id);
  expect(oldSecretUntil).toBeGreaterThan(Date.now());
  expect(here.mock.listWebhooks()).toMatchObject([
    { metadata: { description: 'as it was', site_ids: [SITE] } },
  ]);
});

test('asks for the sites, when the old one was deleted before the successor had them, and then finishes', async () => {
  const successor = marked('[hookkit: replaces old00000]', []);
  await storeSecret(successor.id, successor.secret);
  await expect(rotateHere('old00000')).rejects.toThrow(`webhooks update ${successor.id} --site`);
  await here.cli(['webhooks', 'update', successor.id, '--site', SITE]);
  expect(await rotateHere('old00000')).toMatchObject({ id: successor.id });
  expect(here.mock.listWebhooks()).toMatchObject([{ metadata: { description: '', site_ids: [SITE] } }]);
});

test('takes away what several earlier runs have left behind, when their secrets were lost', async () => {
  const old = here.foreignWebhook(URL);
  marked(`[hookkit: replaces ${old.id}]`, []);
  marked(`[hookkit: replaces ${old.id}]`, [SITE]);
  const { id } = await rotateHere(old.id);
  expect(here.mock.listWebhooks()).toMatchObject([{ id, metadata: old.metadata }]);
});

test('leaves other webhooks alone, when there are some', async () => {
  const old = here.foreignWebhook(URL);
  const others = [marked('mine', []), marked('[hookkit: replaces other000]', [])].map(({ id }) => id);
  const { id } = await rotateHere(old.id);
  expect(here.mock.listWebhooks().map((webhook) => webhook.id)).toEqual([...others, id]);
});

test('says that there is nothing of this id, when it was deleted behind our back', async () => {
  await storeSecret('old00000', 'the-secret-of-the-old-one-0123456789');
  await expect(rotateHere('old00000')).rejects.toMatchObject({ code: 'WEBHOOK_UNKNOWN' });
});

test.each(['', 'of the main site', 'has [brackets] and: colons', '[hookkit: replaces 2yW4KmiG] was here'])(
  'has one mark and gives the description back as it was, when %j is marked, changed and unmarked',
  (description) => {
    const marked = withMark(withMark(description, 'anotherOne'), '2yW4KmiG');
    expect(marked.replace(description, '').trim()).toBe('[hookkit: replaces 2yW4KmiG]');
    expect([replacedBy(marked), replacedBy(description)]).toEqual(['2yW4KmiG', undefined]);
    expect([withoutMark(marked), keepingMark(marked), keepingMark(description)]).toEqual([
      ...[description, marked, description],
    ]);
    expect(keepingMark(marked, 'new')).toBe('new [hookkit: replaces 2yW4KmiG]');
  },
);
