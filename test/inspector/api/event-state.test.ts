import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { notification } from '../../support/genuine.ts';
import { inspectedForEachTest } from '../../support/inspected-service.ts';

const inspect = inspectedForEachTest();

test('the API and the page of an event show the state of its media now, when handlers left one', async () => {
  const inspected = await inspect({
    media_available(event, { state }) {
      state.set('<b>posted</b>', { id: event.media_id });
      state.set('__proto__', 1);
    },
    media_created() {},
  });
  await inspected.deliver(notification({ media_id: 'one' }));
  await inspected.deliver(notification({ media_id: 'two', event: 'media_created' }));
  await inspected.settled();
  const { events } = await inspected.api('/events');
  const [two, one] = events;

  const detail = await inspected.api(`/events/${one.id}`);
  expect(Object.entries(detail.state)).toEqual([
    ['<b>posted</b>', { id: 'one' }],
    ['__proto__', 1],
  ]);
  expect((await inspected.api(`/events/${two.id}`)).state).toEqual({});
  const description = await inspected.api('/openapi.json');
  const answer = description.paths['/api/events/{id}'].get.responses[200];
  const schema = z.fromJSONSchema(answer.content['application/json'].schema);
  expect(schema.safeParse(detail)).toMatchObject({ success: true });

  const page = async (id: string) =>
    (await inspected.raw(`/events/${id}`, { headers: { accept: 'text/html' } })).body;
  const shown = await page(one.id);
  expect(shown).toContain('State of media:one');
  expect(shown).toContain('&lt;b&gt;posted&lt;/b&gt;');
  expect(shown).not.toContain('<b>posted');
  expect(await page(two.id)).not.toContain('State of');
});
