import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { eventually } from '../../support/eventually.ts';
import { notification } from '../../support/genuine.ts';
import { HeldHandler } from '../../support/held-handler.ts';
import { type Inspected, inspect } from '../../support/inspected-service.ts';
import { present } from '../../support/only.ts';

let inspected: Inspected;
const held = new HeldHandler();

beforeAll(async () => {
  inspected = await inspect({ media_available: (event, ctx) => held.handle(event, ctx) });
});
afterAll(() => inspected.dispose());

test('an event that runs names its process, since when, and how long the lease lasts, in its JSON and on its page', async () => {
  const delivered = await inspected.deliver(notification({ media_id: 'slow' }));
  const { id } = (await delivered.json()) as { readonly id: string };
  await eventually('it runs', async () => (await inspected.api(`/events/${id}`)).running !== null);
  const { running, status, history } = await inspected.api(`/events/${id}`);
  expect({ status, history }).toEqual({ status: 'running', history: [] });
  const { instance } = await inspected.api('/stats');
  expect(running).toMatchObject({ instance });
  expect(Date.parse(running.lease_until)).toBeGreaterThan(Date.parse(running.started_at));
  const { paths } = await inspected.api('/openapi.json');
  const answer = present(paths['/api/events/{id}'].get.responses[200]);
  z.fromJSONSchema(answer.content['application/json'].schema).parse(await inspected.api(`/events/${id}`));
  const page = async () => (await inspected.raw(`/events/${id}`, { headers: { accept: 'text/html' } })).body;
  const shown = await page();
  expect(shown).toMatch(/running<\/span>\s+since <time [^>]+>[^<]+<\/time>, on <span class="id">/);
  expect(shown).toContain(`on <span class="id">${instance}</span>; its lease lasts until`);

  held.last.end();
  await inspected.settled();
  expect(await inspected.api(`/events/${id}`)).toMatchObject({ running: null, status: 'handled' });
  expect(await page()).not.toContain('its lease lasts');
});
