import { afterEach, describe, expect, test } from '@jest/globals';
import { some } from '../support/sizes.ts';
import { type Clients, clientsOf, HOOK, NEW_HOOK, SOON, STATUS } from './clients.ts';
import { closeAll, deadUrl, type Script, scripted } from './support.ts';

afterEach(closeAll);

const drop: Script = (response) => response.destroy();
const cutShort: Script = (response) => {
  response.writeHead(200, { 'Content-Length': '1000' });
  response.write('{"id":');
  setImmediate(() => response.destroy());
};
const passing: [string, Script, string][] = [
  ['a 500', [500], '500'],
  ['a 502 that is not JSON', (response) => response.writeHead(502).end('<html>'), '502'],
  ['a 503', [503], '503'],
  ['a 504', [504], '504'],
  ['a 429', [429, {}, { 'Retry-After': '1' }], '429'],
  ['a dropped connection', drop, 'the connection failed (UND_ERR_SOCKET)'],
  ['an answer cut short', cutShort, 'the connection failed (UND_ERR_SOCKET)'],
];

/** Calls that may be carried out twice, with what a server answers them. */
const repeatable: [string, unknown, (clients: Clients) => Promise<unknown>][] = [
  ['statuses.page', [STATUS], ({ statuses }) => statuses.page()],
  ['statuses.get', STATUS, ({ statuses }) => statuses.get('1')],
  ['statuses.schedule', STATUS, ({ statuses }) => statuses.schedule({ status: 'x' }, SOON)],
  ['statuses.reschedule', STATUS, ({ statuses }) => statuses.reschedule('1', SOON)],
  ['statuses.cancel', {}, ({ statuses }) => statuses.cancel('1')],
  ['webhooks.get', HOOK, ({ webhooks }) => webhooks.get('1')],
  ['webhooks.update', HOOK, ({ webhooks }) => webhooks.update('1', { name: 'y' })],
  ['webhooks.delete', {}, ({ webhooks }) => webhooks.delete('1')],
];

describe.each(some(3, repeatable))('%s', (_, answer, call) => {
  test.each(passing)('is tried again, when there is %s, and succeeds', async (_, fault, reason) => {
    const { url, got } = await scripted(fault, fault, [200, answer]);
    const clients = clientsOf(url);
    await call(clients);
    expect(got).toHaveLength(3);
    expect(
      new Set(got.map(({ method, body, headers }) => [method, body, headers['idempotency-key']].join())).size,
    ).toBe(1);
    expect(clients.retries.map(({ attempt }) => attempt)).toEqual([1, 2]);
    // Which of the two a lost connection is called depends on when the system notices.
    expect(clients.retries[0]?.reason.replace('ECONNRESET', 'UND_ERR_SOCKET')).toBe(reason);
  });
  test.each(passing)('is given up, when there is %s four times', async (_, fault) => {
    const { url, got } = await scripted(fault);
    await expect(call(clientsOf(url))).rejects.toMatchObject({ name: 'ProviderError' });
    expect(got).toHaveLength(4);
  });
  test.each([400, 401, 403, 404, 409, 422, 501])('is not tried again, when there is a %i', async (status) => {
    const { url, got } = await scripted([status]);
    await expect(call(clientsOf(url))).rejects.toMatchObject({ status });
    expect(got).toHaveLength(1);
  });
});

describe('webhooks.create', () => {
  test.each(passing.filter(([, , reason]) => reason !== '429'))(
    'is not tried again, when there is %s, and says where to look first',
    async (_, fault) => {
      const { url, got } = await scripted(fault, [201, HOOK]);
      await expect(clientsOf(url).webhooks.create(NEW_HOOK)).rejects.toMatchObject({
        message: expect.stringMatching(/The webhook may be registered in spite of this: look at the list/),
      });
      expect(got).toHaveLength(1);
    },
  );
  test('is tried again, when there is a 429, for then nothing was carried out', async () => {
    const { url, got } = await scripted([429], [201, HOOK]);
    const { webhooks, clock } = clientsOf(url);
    await webhooks.create(NEW_HOOK);
    expect([got.length, clock.waits]).toEqual([2, [20_000]]);
  });
  test('is retried, when no server listens, because then nothing was sent', async () => {
    const { webhooks, clock } = clientsOf(await deadUrl());
    const error = await webhooks.create(NEW_HOOK).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'unreachable', status: undefined });
    expect(error.message).toMatch(
      /^POST \/v2\/webhooks: unreachable: the connection failed \(ECONNREFUSED\)\. Check the/,
    );
    expect(error.cause).toMatchObject({ name: 'TypeError', message: 'fetch failed' });
    expect(clock.waits).toHaveLength(3);
  });
});

describe('an answer that is none of the API', () => {
  test.each<[string, Script]>([
    ['not JSON', (response) => response.end('<html>hello</html>')],
    ['JSON of another shape', [200, { hello: 'world' }]],
    ['empty', (response) => response.end()],
    ['a redirect', [302, {}, { Location: 'https://elsewhere.example/' }]],
    ['an odd status', [418]],
  ])('is refused, when it is %s, as unexpected_answer and not tried again', async (_, script) => {
    const { url, got } = await scripted(script);
    const error = await clientsOf(url)
      .statuses.get('1')
      .catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'unexpected_answer' });
    expect(error.message).toContain('Check that the base URL');
    expect(got).toHaveLength(1);
  });
  test('is refused, when a list is not found, with what to check, as it cannot be missing', async () => {
    const { url } = await scripted(
      ...Array.from({ length: 5 }, () => [404, { error: 'Not Found' }] as const),
    );
    const { statuses, webhooks } = clientsOf(url);
    for (const [work, without] of [
      [statuses.page(), '/api/v1'],
      [webhooks.page(1), '/v2'],
    ] as const) {
      const error = await (work as Promise<unknown>).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'unexpected_answer', status: 404 });
      expect(String(error)).toContain(
        `Check that the base URL is that of the provider’s API, without ${without},`,
      );
    }
    await expect(statuses.get('1')).rejects.toMatchObject({ code: 'not_found' });
    await expect(statuses.publish({ status: 'x' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(webhooks.get('1')).rejects.toMatchObject({ code: 'not_found' });
  });
  test('ends a removal, when it is another service, all the same', async () => {
    const { url } = await scripted([302, {}, { Location: 'https://elsewhere.example/' }]);
    await expect(clientsOf(url).webhooks.delete('1')).rejects.toMatchObject({ code: 'unexpected_answer' });
  });
});
