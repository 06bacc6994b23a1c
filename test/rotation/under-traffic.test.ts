import { afterAll, beforeAll, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { eventually } from '../support/eventually.ts';
import { createCommand, hookOf, type Installation, install, SITE } from '../support/installation.ts';
import type { Served } from '../support/served.ts';
import { refusals, startTraffic } from '../support/traffic.ts';

let here: Installation;
let service: Served;
beforeAll(async () => {
  here = await install();
  service = await here.serve();
});
afterAll(() => here.dispose());

function events(): { events: number; deliveries: number; unhandled: number } {
  const db = new Database(here.path, { readonly: true });
  const row = db
    .prepare<[], { events: number; deliveries: number; unhandled: number }>(
      `SELECT count(*) AS events, sum(deliveries) AS deliveries, sum(status <> 'handled') AS unhandled FROM events`,
    )
    .get();
  db.close();
  return row ?? { events: 0, deliveries: 0, unhandled: 0 };
}

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
  await eventually('everything is handled', () => events().unhandled === 0);
  const { events: recorded, deliveries } = events();
  expect(recorded).toBe(traffic.count);
  expect(deliveries).toBe(here.mock.deliveries().length);
  const views: { id: string; secret: string }[] = await here.json(['webhooks', 'list']);
  expect(views.map((view) => [view.id, view.secret])).toEqual([
    [id, 'live'],
    ...ids.slice(0, 3).map((old) => [old, 'retiring']),
  ]);
});
