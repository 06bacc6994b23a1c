import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { eventsIn } from '../support/events-in.ts';
import { eventually } from '../support/eventually.ts';
import { createCommand, hookOf, SITE } from '../support/installation.ts';
import { type InstallationOnEngine, installOnEngine } from '../support/installation-on-engine.ts';
import type { Served } from '../support/served.ts';
import { refusals, startTraffic } from '../support/traffic.ts';

let here: InstallationOnEngine;
let service: Served;
let store: EventStore;
beforeAll(async () => {
  here = await installOnEngine();
  service = await here.serve();
  store = await here.openStore();
});
afterAll(async () => {
  await store.close();
  await here.dispose();
});

test('refuses nothing and handles everything once, when a webhook is rotated three times under constant traffic', async () => {
  const create = createCommand(hookOf(service));
  let { id } = await here.json([...create, '--description', 'as it was']);
  const before = here.mock.listWebhooks()[0]?.metadata;
  const traffic = startTraffic(here.mock, SITE);
  const ids = [id];
  for (let round = 0; round < 3; round++) {
    const rotated = await here.json(['webhooks', 'rotate', id]);
    expect(rotated).toEqual({ id: expect.any(String), replaced: id, old_secret_until: expect.any(String) });
    id = rotated.id;
    ids.push(id);
  }
  await traffic.stop();
  expect(refusals(here.mock)).toEqual([]);
  expect(new Set(ids).size).toBe(4);
  expect(here.mock.listWebhooks()).toMatchObject([{ id, metadata: before }]);
  const handled = () => store.count({ status: 'handled' });
  await eventually('everything is handled', async () => (await handled()) === (await store.count({})));
  const events = await eventsIn(store, {}, 100_000);
  expect(events).toHaveLength(traffic.count);
  const deliveries = events.reduce((sum, event) => sum + event.deliveries, 0);
  expect(deliveries).toBe(here.mock.deliveries().length);
  const views: { id: string; secret: string }[] = await here.json(['webhooks', 'list']);
  expect(views.map((view) => [view.id, view.secret])).toEqual([
    [id, 'live'],
    ...ids.slice(0, 3).map((old) => [old, 'retiring']),
  ]);
});
