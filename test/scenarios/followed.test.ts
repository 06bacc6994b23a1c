import { expect, test } from '@jest/globals';
import type { HandlerContext } from '../../src/dispatch/handler.ts';
import { eventually } from '../support/eventually.ts';
import { notification, SECRET } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { callCli } from '../support/run-cli.ts';

const start = inspectedForEachTest();
const OTHERS = /^(id|(event|site|webhook|req|request)_?id|whose)$/i;

test('a notification is found by the request id of its proxy, in all lines of the log and as an event, and each thing has one name in them', async () => {
  const media_available = (_: unknown, { log }: HandlerContext) => {
    log.info('its own line');
    throw new Error('down');
  };
  const env = { TRUST_PROXY: '1', WEBHOOK_SECRET: 'mock-1', RETRY_MAX_ATTEMPTS: '2' };
  const started = await start({ media_available }, env);
  const { deliver, settled, api, raw, post, log, env: database } = started;
  const requests = ['first/1', 'repeat/1', 'forged/1'];
  for (const [at, id] of requests.entries())
    await deliver(notification(), at === 2 ? 'wrong' : SECRET, { 'x-request-id': id });
  await settled();
  const [found, ...others] = await Promise.all(requests.map((q) => api(`/events?q=${q}`)));
  expect(others).toMatchObject([{ events: [] }, { events: [] }]);
  expect(found).toMatchObject({ events: [{ request: 'first/1' }] });
  const { id } = found.events[0];
  const names = { event: id, kind: 'media_available', resource: 'media:UUhbHm6C', site: 'jsPxIVHl' };
  expect(await api(`/events/${id}`)).toMatchObject({ id, request: 'first/1' });
  const listed = await callCli(['events', 'list', '--json', '--q', 'first/1'], { env: database });
  expect(JSON.parse(listed.stdout)).toMatchObject({ id, request: 'first/1' });
  expect((await raw(`/events/${id}`)).body).toContain('>first/1<');
  expect((await post(`/api/events/${id}/replay`)).status).toBe(200);
  await settled();
  expect((await post('/api/events/replay', { kind: names.kind })).status).toBeLessThan(300);
  await eventually('all is replayed', () => log.withMessage('bulk replay ended').length === 1);
  await settled();

  const of = (request?: string) => log.entries().filter((line) => line.request === request);
  const told = ['notification recorded', 'its own line', 'handler failed', 'event is dead'];
  expect([...new Set(of('first/1').map(({ msg }) => msg))]).toEqual(told);
  for (const line of of('first/1')) expect(line).toMatchObject({ ...names, webhook: '2yW4KmiG' });
  expect(of('repeat/1')).toMatchObject([{ ...names, status: 'duplicate' }]);
  expect(of('forged/1')).toMatchObject([{ webhook: '2yW4KmiG', kind: names.kind, status: 401 }]);
  expect(log.withMessage('done at the inspector')[0]).toMatchObject({ event: id });
  const used = log.entries().flatMap(Object.keys);
  expect(used.filter((name) => OTHERS.test(name))).toEqual([]);
});
