import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { retry } from '../../src/dispatch/outcome.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { callCli } from '../support/run-cli.ts';

const inspect = inspectedForEachTest();
const database = databaseForEachTest();

test('an event that asked to come back in an hour does not fail, and is replayed where it is meant only, as one that failed is with all pending ones', async () => {
  const { env } = database();
  const { api, deliver, post, raw } = await inspect(
    {
      media_available: () => retry({ after: 3_600_000, reason: 'Error: not there yet' }),
      media_deleted: () => {
        throw new Error('not there yet');
      },
    },
    { ...env, RETRY_BASE_MS: '600000', RETRY_CAP_MS: '600000' },
  );
  await deliver(notification({ media_id: 'asks' }));
  await deliver(notification({ event: 'media_deleted', media_id: 'fails' }));
  const events = async (query = ''): Promise<object[]> => (await api(`/events?${query}`)).events;
  const replayed = (fails: number, asks = 0) =>
    eventually(`they wait after ${fails} and ${asks} replays`, async () => {
      const found = (await events()).map((one) => [Reflect.get(one, 'waiting'), Reflect.get(one, 'replays')]);
      return `${found}` === `failed,${fails},asked,${asks}`;
    });
  await replayed(0);

  expect(await events('waiting=asked')).toMatchObject([{ resource: 'media:asks' }]);
  const text = expect.stringMatching(/^1 event fails .*: Error: not there yet \(1\)$/);
  expect((await api('/stats')).concerns).toMatchObject([{ fault: 'failing', text }]);
  expect((await api('/problems')).problems).toMatchObject([{ kind: 'media_deleted', count: 1 }]);
  const get = async (path: string) => (await raw(path, { headers: { accept: 'text/html' } })).body;
  const links = (await get('/problems')).match(/(?<=href="events\/replay\?)[^"]+/g);
  expect(links).toHaveLength(1);
  // Retry now, as where both are of one kind.
  const { kind: _, ...given } = Object.fromEntries(new URLSearchParams(`${links}`.replaceAll('&amp;', '&')));
  await post('/events/replay', { ...given, id: randomUUID() });
  await replayed(1);
  expect(await get('/events/replay?status=pending')).toContain('Replay 1 event');
  await post('/events/replay', { status: 'pending', id: randomUUID() });
  await replayed(2);
  await post('/api/events/replay', { status: 'pending' });
  await replayed(3);
  const cli = async (...args: string[]) => (await callCli(['events', ...args], { env })).stdout;
  expect(await cli('replay', '--status', 'pending', '--dry-run')).toBe('1 event would be replayed\n');
  await cli('replay', '--status', 'pending');
  await replayed(4);
  expect(await cli('list', '--waiting', 'asked')).toMatch(/^(?!.*media:fails).*media:asks/s);
  await cli('replay', '--waiting', 'asked');
  await replayed(4, 1);
  expect(await cli('dismiss', '--waiting', 'failed', '--reason', 'gone')).toBe('1 event dismissed\n');
  expect(await events('status=pending')).toMatchObject([{ waiting: 'asked' }]);
  expect((await api('/stats')).concerns).toEqual([]);
});
