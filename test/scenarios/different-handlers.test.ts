import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';

const inspect = inspectedForEachTest();
const database = databaseForEachTest();

/** Has the time of events that wait come. */
const wake = () => {
  const due = 'SET next_at = 1 WHERE next_at IS NOT NULL';
  return database().execute({ sqlite: `UPDATE events ${due}`, postgres: `UPDATE hookkit.events ${due}` });
};

test('what was skipped for want of a handler that another instance has is told with its replay, until it is replayed', async () => {
  const { env, execute } = database();
  const inspected = await inspect({}, { ...env, INSTANCE_NAME: 'old' });
  const { reports } = inspected.service.store;
  const startedAt = Date.now() - 60_000;
  const instance = { name: 'new', version: '1.0.0', startedAt, running: 0, kinds: ['media_available'] };
  const concerns = async () => {
    await reports.report({ instance, stats: [], refusals: [] });
    return (await inspected.api('/stats')).concerns;
  };
  expect(await concerns()).toEqual([]);
  await inspected.deliver(notification());
  await inspected.deliver(notification({ event: 'media_updated', media_id: 'other' })); // which nobody has a handler for
  await eventually('it is given back', async () => (await reports.overview()).waiting === 1);
  // Ten minutes pass.
  const earlier = 'attempts SET started_at = started_at - 600000';
  await execute({ sqlite: `UPDATE ${earlier}`, postgres: `UPDATE hookkit.${earlier}` });
  await wake();
  await inspected.settled();

  const flags = "--status skipped --error 'no handler for *' --since 2023-11-14T22:30:10.000Z";
  const [{ path, ...concern }, ...others] = await concerns();
  expect([concern, others]).toMatchObject([
    {
      fault: 'no_handler',
      grave: true,
      text: '1 event was skipped, as instance old has no handler for media_available, and new has one',
      advice: expect.stringContaining(`\`npx hookkit events replay ${flags}\``),
    },
    [],
  ]);
  const overview = await (await fetch(inspected.url)).text();
  expect(overview).toContain(`href="${path.replaceAll('&', '&amp;')}">1 event was skipped`);
  const list = await (await fetch(`${inspected.url}/${path}`)).text();
  expect(list).toContain(`href="events/replay?${path.split('?')[1].replaceAll('&', '&amp;')}"`);
  const filters = Object.fromEntries(new URLSearchParams(path.split('?')[1]));
  expect((await inspected.post('/api/events/replay', filters)).status).toBe(200);
  expect(await concerns()).toEqual([]);
});
