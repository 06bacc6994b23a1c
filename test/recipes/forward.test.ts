import { expect, test } from '@jest/globals';
import { forward, keyBytesOf, signatureOf } from '../../src/recipes/forward.ts';
import { testReceiver } from '../../src/testing/index.ts';
import { scripted } from '../provider/support.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** What becomes of an event that another system answers so, then with 204, and how long the second attempt waited. */
async function forwarded(status: number, headers: Record<string, string>) {
  const { url } = await scripted([status, {}, headers], [204]);
  await using kit = await testReceiver({ handlers: forward({ url, secret: SECRET }) });
  await kit.deliver('media_available');
  await kit.settled();
  const [first, second] = await kit.attempts();
  return { event: await kit.event(), first, waited: (second?.startedAt ?? 0) - (first?.startedAt ?? 0) };
}

test('every notification goes on, of kinds that nobody knows too, signed, with its id', async () => {
  const example = 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}';
  expect(signatureOf(example, keyBytesOf(SECRET))).toBe('g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  const { url, got } = await scripted([204]);
  await using kit = await testReceiver({ handlers: forward({ url, secret: SECRET }) });
  await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
  const ids = { webhook_id: 'any', site_id: 's' };
  await kit.deliverBody({ event: 'media_invented', ...ids, event_time: '2026-01-01T00:00:00Z' });
  await kit.settled();
  const bodies = got.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body)] as const);
  const events = (await kit.events()).map(({ id, notification }) => [id, notification] as const);
  expect(new Map(bodies)).toEqual(new Map(events));
  for (const { headers, body } of got) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    expect(headers['webhook-signature']).toBe(`v1,${signatureOf(signed, keyBytesOf(SECRET))}`);
  }
});

test.each([
  [429, '7200', 7_200_000],
  [503, 'Thu, 01 Jan 2026 03:00:00 GMT', 10_800_000],
  [408, '0', 750],
  [500, 'soon', 750],
])('an answer of %i with a Retry-After of %s is tried again after %i ms', async (status, header, waits) => {
  const { event, first, waited } = await forwarded(status, { 'Retry-After': header });
  expect(event).toMatchObject({ status: 'handled', starts: 2, attempts: 1 });
  expect(first).toMatchObject({ outcome: 'retry', error: `the other system answered ${status}` });
  expect(Math.abs(waited - waits)).toBeLessThan(1000);
});

test.each([302, 400, 401, 410])('an answer of %s is the end of it', async (status) => {
  const lastError = `the other system answered ${status}`;
  expect((await forwarded(status, { Location: '/elsewhere' })).event).toMatchObject({
    status: 'dead',
    attempts: 1,
    lastError,
  });
});

test.each([
  ['ftp://x.test', SECRET, 'url must be an http or https URL'],
  ['https://user:hunter2@x.test/hook', SECRET, 'without a user name and password'],
  ['https://x.test', 'whsec_short', 'secret must be whsec_'],
])('options that cannot be used are refused without being shown: %s and %s', (wrongUrl, secret, message) => {
  const make = () => forward({ url: wrongUrl, secret });
  expect(make).toThrow(message);
  expect(make).not.toThrow(/MfKQ9|hunter2/);
});
