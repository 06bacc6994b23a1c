import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import { retireSecrets } from '../../../src/rotation/create-and-delete.ts';
import { type Installation, install } from '../../support/installation.ts';

const URL = 'https://your.host/webhooks/media';
const env = { WEBHOOK_SECRET: 'a-secret-for-all-of-them-0123456789' };
const STORED = 'a-secret-that-is-stored-0123456789';
let here: Installation;
beforeAll(async () => {
  here = await install();
  await (await here.openStore()).close();
});
afterAll(() => here.dispose());

/** A webhook whose only stored secret verifies nothing any more. */
async function webhookOfRetired(): Promise<string> {
  const { id } = here.foreignWebhook(URL);
  const store = await here.openStore();
  await store.addSecret(id, STORED);
  await retireSecrets(store, { id, at: systemClock.now() });
  await store.close();
  return id;
}

test.each(['delete', 'rotate'])(
  '%s says whether WEBHOOK_SECRET still verifies for the webhook',
  async (verb) => {
    const { id: neverStored } = here.foreignWebhook(URL);
    const still = await here.cli(['webhooks', verb, neverStored], { env });
    expect(still).toMatchObject({ code: 0, stdout: expect.stringContaining('secret was never stored') });
    expect(still.stderr).toContain(`WEBHOOK_SECRET still verifies for ${neverStored}`);
    const nothing = await here.cli(['webhooks', verb, await webhookOfRetired()], { env });
    expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('verifies nothing any more') });
    expect(nothing.stderr).not.toContain('WEBHOOK_SECRET');
  },
);

test('signs nothing with WEBHOOK_SECRET, when the secret of the webhook was retired, and says what to do, with 2', async () => {
  const id = await webhookOfRetired();
  const send = ['events', 'send', '--kind', 'media_created', '--media', 'm', '--to', 'http://127.0.0.1:9/'];
  const { code, stderr } = await here.cli([...send, '--webhook', id], { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/no live secret for webhook \w+: /);
});
