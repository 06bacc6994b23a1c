import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import { retireSecrets } from '../../../src/rotation/create-and-delete.ts';
import { type InstallationOnEngine, installOnEngine } from '../../support/installation-on-engine.ts';

const URL = 'https://your.host/webhooks/media';
const env = { WEBHOOK_SECRET: 'a-secret-for-all-of-them-0123456789' };
const STORED = 'a-secret-that-is-stored-0123456789';
let here: InstallationOnEngine;
beforeAll(async () => {
  here = await installOnEngine();
  await here.makeDatabase();
});
afterAll(() => here.dispose());

/** Retires the secrets of a webhook at once, and leaves the webhook at the provider. */
async function retire(id: string): Promise<void> {
  const store = await here.openStore();
  await retireSecrets(store, { id, at: systemClock.now() });
  await store.close();
}

/** A webhook whose only stored secret verifies nothing any more. */
async function webhookOfRetired(url = URL): Promise<string> {
  const { id } = here.foreignWebhook(url);
  await here.cli(['webhooks', 'import', '--id', id], { stdin: STORED });
  await retire(id);
  return id;
}

test('says that WEBHOOK_SECRET still verifies, when a webhook is deleted or rotated that never had a stored secret', async () => {
  for (const verb of ['delete', 'rotate']) {
    const { id } = here.foreignWebhook(URL);
    const { code, stdout, stderr } = await here.cli(['webhooks', verb, id], { env });
    expect(code).toBe(0);
    expect(stderr).toContain(`WEBHOOK_SECRET still verifies for ${id}`);
    expect(stdout).toContain('secret was never stored');
  }
});

test('says that nothing verifies any more, when a webhook is deleted or rotated whose secret was retired', async () => {
  for (const verb of ['delete', 'rotate']) {
    const id = await webhookOfRetired();
    const { code, stdout, stderr } = await here.cli(['webhooks', verb, id], { env });
    expect(code).toBe(0);
    expect(stderr).not.toContain('WEBHOOK_SECRET');
    expect(stdout).toMatch(/secret verifies nothing any more/);
  }
});

test('signs nothing with WEBHOOK_SECRET, when the secret of the webhook was retired, and says what to do, with 2', async () => {
  const id = await webhookOfRetired();
  const send = ['events', 'send', '--kind', 'media_created', '--media', 'm', '--to', 'http://127.0.0.1:9/'];
  const { code, stderr } = await here.cli([...send, '--webhook', id], { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/no live secret for webhook \w+: /);
});
