import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import {
  clientsOf,
  failureOf,
  HOOK,
  NEW_HOOK,
  NOWHERE,
  type Script,
  SOON,
  STATUS,
  scripted,
} from './support.ts';

const hang: Script = () => undefined;
const cutShort: Script = (response) => {
  response.writeHead(200, { 'Content-Length': '1000' }).write('{"id":');
  setImmediate(() => response.destroy());
};
const lost: [string, Script][] = [
  ['a 500', [500]],
  ['a dropped connection', (response) => response.destroy()],
  ['an answer cut short', cutShort],
];

/** Calls that may be carried out twice, with what a server answers them. */
const repeatable: [unknown, (clients: ReturnType<typeof clientsOf>) => Promise<unknown>][] = [
  [[STATUS], ({ statuses }) => statuses.page()],
  [STATUS, ({ statuses }) => statuses.schedule({ status: 'x' }, SOON)],
  [{}, ({ statuses }) => statuses.cancel('1')],
  [HOOK, ({ webhooks }) => webhooks.update('1', { name: 'y' })],
];

describe('a call that may be carried out twice', () => {
  test.each([...lost, ['a 429', [429]] satisfies [string, Script]])(
    'is sent again as it was, when there is %s, up to four times',
    async (_, fault) => {
      for (const [answer, call] of repeatable) {
        const { url, got } = await scripted(fault, fault, [200, answer]);
        const clients = clientsOf(url);
        await call(clients);
        const sent = got.map(({ body, headers }) => `${body} ${headers['idempotency-key']}`);
        expect([sent.length, new Set(sent).size]).toEqual([3, 1]);
        expect(clients.retries.map(({ attempt }) => attempt)).toEqual([1, 2]);
        const down = await scripted(fault);
        expect(await failureOf(call(clientsOf(down.url)))).toMatchObject({ name: 'ProviderError' });
        expect(down.got).toHaveLength(4);
      }
    },
  );

  test.each([400, 422, 501])('is sent once, when the answer is %i', async (status) => {
    for (const [, call] of repeatable) {
      const { url, got } = await scripted([status]);
      expect(await failureOf(call(clientsOf(url)))).toMatchObject({ status });
      expect(got).toHaveLength(1);
    }
  });

  test('is a success, when it removes what an attempt without an answer has removed', async () => {
    const { url, got } = await scripted((response) => response.destroy(), [404]);
    await clientsOf(url).statuses.cancel('1');
    expect(got).toHaveLength(2);
    const limit = await scripted([429], [404]);
    await expect(clientsOf(limit.url).webhooks.delete('1')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('the creation of a webhook', () => {
  test.each(lost)('is sent once, when there is %s, and says where to look first', async (_, fault) => {
    const { url, got } = await scripted(fault, [201, HOOK]);
    const { message } = await failureOf(clientsOf(url).webhooks.create(NEW_HOOK));
    expect(message).toContain('The webhook may be registered in spite of this: look at the list');
    expect(got).toHaveLength(1);
  });

  test('is sent again, when the limit was exceeded or no server listens, as nothing was carried out', async () => {
    const { url, got } = await scripted([429], [201, HOOK]);
    const { webhooks, waits } = clientsOf(url);
    await webhooks.create(NEW_HOOK);
    expect([got.length, waits]).toEqual([2, [20_000]]);
    const nowhere = clientsOf(NOWHERE);
    const error = await failureOf(nowhere.webhooks.create(NEW_HOOK));
    expect(error).toMatchObject({ code: 'unreachable', status: undefined });
    expect(error.message).toMatch(/^POST \/v2\/webhooks: unreachable: the connection failed .*\. Check the/);
    expect(nowhere.waits).toHaveLength(3);
  });
});

describe('waits', () => {
  const date = { Date: 'Thu, 01 Jan 2026 00:00:00 GMT' };

  test('double, when faults follow each other, up to ten seconds, half of it by chance', async () => {
    const { url } = await scripted([500]);
    const { statuses, waits } = clientsOf(url, { maxAttempts: 8 });
    await failureOf(statuses.get('1'));
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000]);
  });

  test.each([
    ['Retry-After in seconds', 429, { 'Retry-After': '7' }, [7000]],
    ['Retry-After as a date', 429, { ...date, 'Retry-After': 'Thu, 01 Jan 2026 00:00:09 GMT' }, [9000]],
    ['X-RateLimit-Reset', 429, { ...date, 'X-RateLimit-Reset': '2026-01-01T00:00:31.500000Z' }, [31_500]],
    ['what is no time', 429, { 'X-RateLimit-Reset': 'later', 'Retry-After': 'soon' }, [20_000]],
    ['more than may be asked for', 429, { 'Retry-After': '61' }, []],
  ])('follow the provider, when it sends %s', async (_, status, headers, waits) => {
    const { url } = await scripted([status, {}, headers], [200, STATUS]);
    const clients = clientsOf(url);
    const result = await failureOf(clients.statuses.get('1'));
    expect(clients.waits).toEqual(waits);
    if (waits.length === 0)
      expect(result).toMatchObject({ code: 'rate_limit_exceeded', retryAfterMs: 61_000 });
  });
});

const hangInBody: Script = (response) => response.writeHead(200).write('[');

test.each([
  ['nothing is answered', hang],
  ['an answer does not end', hangInBody],
])('time-outs end an attempt, when %s, and the call after the last one', async (_, script) => {
  const { url, got } = await scripted(script);
  const { statuses, retries } = clientsOf(url, { maxAttempts: 2, timeoutMs: 10 });
  const error = await failureOf(statuses.get('1'));
  expect(error).toMatchObject({ code: 'timed_out', cause: { name: 'TimeoutError' } });
  expect(retries).toMatchObject([{ operation: error.operation, reason: 'no answer in time' }]);
  expect(got.length).toBeLessThanOrEqual(2);
});

const gone = new Error('never mind');

test('a signal ends a call with its reason, when it is aborted before, while the provider thinks, or during a wait', async () => {
  const never = await scripted([200, STATUS]);
  const aborted = { signal: AbortSignal.abort(gone) };
  await expect(clientsOf(never.url).statuses.get('1', aborted)).rejects.toBe(gone);
  const thinking = new AbortController();
  const slow = await scripted(() => thinking.abort(gone));
  await expect(clientsOf(slow.url).statuses.get('1', thinking)).rejects.toBe(gone);
  const waiting = new AbortController();
  const busy = await scripted([500]);
  const clock = new VirtualClock();
  const onRetry = () => setImmediate(() => waiting.abort(gone));
  await expect(clientsOf(busy.url, { onRetry, clock }).statuses.get('1', waiting)).rejects.toBe(gone);
  expect([never.got.length, slow.got.length, busy.got.length]).toEqual([0, 1, 1]);
  expect(clock.nextDue()).toBeUndefined();
});
