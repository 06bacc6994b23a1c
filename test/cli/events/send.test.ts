import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { openStore } from '../../../src/store/open.ts';
import { deskForEachTest, SECRET } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { OWN_THREADS } from '../../support/own-threads.ts';
import { type RunningService, runService } from '../../support/running-service.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine
const media = ['send', '--kind', 'media_available', '--media', 'UUhbHm6C'];
const withSecret = { WEBHOOK_SECRET: SECRET };

let receiver: RunningService;
let recorded: EventStore;
beforeAll(async () => {
  const env = { ...withSecret, HEADERS_TIMEOUT_MS: '500', REQUEST_TIMEOUT_MS: '500' };
  receiver = await runService({}, env, { threads: OWN_THREADS });
  recorded = await openStore({ url: `sqlite:${receiver.path}`, clock: systemClock, threads: false });
});
afterAll(async () => {
  await recorded.close();
  await receiver.dispose();
});

test.each([
  [undefined, 200],
  ['forged', 401],
  ['tampered', 401],
  ['oversized', 413],
  ['slow', 408],
])('is answered as it must be, when sent with fault %s, with %i, and ends with 0', async (fault, status) => {
  const before = await recorded.count({});
  const args = [...media, '--to', `${receiver.url}/webhooks/media`, '--json'];
  const run = await desk().events(fault ? [...args, '--fault', fault] : args, { env: withSecret });
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(run.stdout)).toMatchObject({ status, fault: fault ?? null });
  expect((await recorded.count({})) - before).toBe(fault ? 0 : 1);
});

test('sends exactly the file, when a body is given, with the secret from stdin', async () => {
  const body = '{ "event": "media_renamed",\n  "webhook_id": "other001" }';
  const file = desk().write('body.json', body);
  const args = ['send', '--body', file, '--to', `${receiver.url}/webhooks/media`, '--secret-file', '-'];
  expect(await desk().events(args, { stdin: `${SECRET}\n` })).toMatchObject({ code: 0 });
  expect((await eventsIn(recorded, { webhook: 'other001' }, 1))[0]?.body).toBe(body);
});

test('sends a file that receivers refuse with --as-is alone, byte for byte, and ends with 1', async () => {
  const file = desk().write('body.json', '[1, 2]');
  const args = ['send', '--body', file, '--webhook', 'webhook1', '--to', `${receiver.url}/webhooks/media`];
  const refused = await desk().events(args, { env: withSecret });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('a receiver refuses this with 400 (not a JSON object');
  const sent = await desk().events([...args, '--as-is', '--json'], { env: withSecret });
  expect(sent.code).toBe(1);
  expect(JSON.parse(sent.stdout)).toMatchObject({ status: 400, body: '[1, 2]' });
});

test('signs with the secret of the webhook that the body names, and asks for one where none is live, with 2', async () => {
  const store = await desk().store();
  await store.addSecret('first001', 'the-secret-of-the-first-webhook');
  await store.addSecret('second01', SECRET);
  const to = ['--to', `${receiver.url}/webhooks/media`];
  const file = desk().write('body.json', '{"event":"media_renamed","webhook_id":"second01"}');
  expect(await desk().events(['send', '--body', file, ...to])).toMatchObject({ code: 0 });
  const { code, stderr } = await desk().events([...media, ...to]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/no live secret for webhook webhook1: give --secret-file/);
});
