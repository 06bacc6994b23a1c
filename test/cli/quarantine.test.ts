import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { eventually } from '../support/eventually.ts';
import { hookOf, type Installation, install, SITE } from '../support/installation.ts';
import { runService } from '../support/running-service.ts';

let here: Installation;
let store: EventStore;
beforeEach(async () => {
  here = await install();
  store = await here.openStore();
});
afterEach(async () => {
  await store.close();
  await here.dispose();
});

/** `count` things happen at the provider. */
async function happen(count: number): Promise<void> {
  for (let i = 0; i < count; i++) here.mock.createChannel({ site_id: SITE });
  await here.mock.settled();
}

/** Refused notifications are kept behind their answers. */
const kept = (count: number) =>
  eventually(`${count} are kept`, async () => (await store.quarantineSize()) === count);

test('shows what waits and from whom, and says how many were admitted and kept, of one webhook or of all', async () => {
  const service = await runService({}, { ...here.env, WEBHOOK_SECRET: '' });
  const known = here.foreignWebhook(hookOf(service), 'known');
  const unknown = here.foreignWebhook(hookOf(service), 'unknown');
  await happen(3);
  await kept(6);
  await service.stop();
  const waiting = await here.json(['quarantine', 'list', '--webhook', known.id]);
  expect(waiting).toHaveLength(3);
  const shown = { webhook_id: known.id, site_id: SITE, kind: 'channel_created', source: '127.0.0.1' };
  expect(waiting[0]).toMatchObject({ ...shown, body: expect.stringContaining('"channel_created"') });
  // A secret that serves all: with it, what is signed with `known` verifies, and the rest stays.
  const env = { WEBHOOK_SECRET: known.secret };
  const admit = (...more: string[]) => here.json(['quarantine', 'admit', ...more], { env });
  expect(await admit('--webhook', unknown.id)).toEqual({ admitted: 0, kept: 3 });
  expect(await admit()).toEqual({ admitted: 3, kept: 3 });
  expect(await store.count({ status: 'pending' })).toBe(3);
});
