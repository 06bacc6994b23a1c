import { afterEach, describe, expect, test } from '@jest/globals';
import { type Retry, StatusesClient, WebhooksClient } from '../../src/provider/index.ts';
import { closeAll, deadUrl, patient, type Script, scripted } from './support.ts';

afterEach(closeAll);

const STATUS = {
  id: '1',
  scheduled_at: '2026-01-02T00:00:00.000Z',
  params: { text: 'x' },
  media_attachments: [],
};
const HOOK = {
  id: '2yW4KmiG',
  type: 'webhook',
  created: '2024-08-27T00:20:57.123000+00:00',
  last_modified: '2024-08-27T00:20:57.123000+00:00',
  metadata: { name: 'x', description: '', webhook_url: 'https://x.example', events: [], site_ids: [] },
  schema: null,
  secret: 'shared',
};
const NEW_HOOK = { name: 'x', webhook_url: 'https://x.example', events: [], site_ids: [] };
const SOON = '2026-01-02T00:00:00Z';

function clientsOf(baseUrl: string, more = {}) {
  const { clock, options } = patient();
  const retries: Retry[] = [];
  const all = { baseUrl, ...options, onRetry: (retry: Retry) => retries.push(retry), ...more };
  return {
    clock,
    retries,
    statuses: new StatusesClient({ ...all, token: 't0ken' }),
    webhooks: new WebhooksClient({ ...all, apiSecret: 's3cret' }),
  };
}
type Clients = ReturnType<typeof clientsOf>;

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

describe.each(repeatable)('%s', (_, answer, call) => {
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
        message: expect.stringMatching(/It may be registered all the same: look at the list/),
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
  test('is tried again, when nobody listens, for then nothing was sent', async () => {
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

describe('waits', () => {
  const date = { Date: 'Thu, 01 Jan 2026 00:00:00 GMT' };
  const waitsAfter = async (status: number, headers: Record<string, string>, more = {}) => {
    const { url } = await scripted([status, {}, headers], [200, STATUS]);
    const { statuses, clock } = clientsOf(url, more);
    await statuses.get('1').catch(() => undefined);
    return clock.waits;
  };

  test('double, when faults follow each other, each half jitter, up to the cap', async () => {
    const { url } = await scripted([500]);
    const { statuses, clock } = clientsOf(url, { maxAttempts: 7, baseMs: 100, capMs: 1000 });
    await statuses.get('1').catch(() => undefined);
    expect(clock.waits).toEqual([50, 100, 200, 400, 500, 500]);
  });
  test.each([
    ['Retry-After in seconds', 429, { 'Retry-After': '7' }, [7000]],
    ['Retry-After as a date', 429, { ...date, 'Retry-After': 'Thu, 01 Jan 2026 00:00:09 GMT' }, [9000]],
    ['Retry-After with a 503', 503, { 'Retry-After': '7' }, [7000]],
    ['X-RateLimit-Reset', 429, { ...date, 'X-RateLimit-Reset': '2026-01-01T00:00:31.500000Z' }, [31_500]],
    ['X-RateLimit-Reset in epoch seconds', 429, { ...date, 'X-RateLimit-Reset': '1767225605' }, [5000]],
    ['a reset that is over', 429, { ...date, 'X-RateLimit-Reset': '2025-01-01T00:00:00.000000Z' }, [250]],
    ['a reset that is no time', 429, { 'X-RateLimit-Reset': 'later', 'Retry-After': 'soon' }, [250]],
    ['a reset with another fault', 500, { ...date, 'X-RateLimit-Reset': '2026-01-01T00:00:31Z' }, [250]],
    ['as much as may be asked for', 429, { 'Retry-After': '60' }, [60_000]],
    ['more than may be asked for', 429, { 'Retry-After': '61' }, []],
  ])('follow the provider, when it sends %s', async (_, status, headers, waits) => {
    expect(await waitsAfter(status, headers)).toEqual(waits);
  });
  test('are left to the caller, when the provider asks for too long, with the time in the error', async () => {
    const { url, got } = await scripted([429, { error: 'Too many requests' }, { 'Retry-After': '300' }]);
    await expect(clientsOf(url).statuses.get('1')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      retryAfterMs: 300_000,
    });
    expect(got).toHaveLength(1);
  });
});

describe('time-outs', () => {
  const hang: Script = () => undefined;
  const hangInBody: Script = (response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.write('[');
  };
  test.each([
    ['nothing is answered', hang],
    ['an answer does not end', hangInBody],
  ])('end an attempt, when %s, and the next one succeeds', async (_, script) => {
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    const { url, got } = await scripted(
      (response, request) => {
        if (typeof script === 'function') script(response, request);
        isAsked();
      },
      [200, STATUS],
    );
    const { statuses, clock } = clientsOf(url);
    const call = statuses.get('1');
    await asked;
    clock.timeOut();
    expect((await call).id).toBe('1');
    expect([got.length, clock.pending]).toEqual([2, 0]);
  });
  test('end the call, when no attempt is left, as timed_out with its cause', async () => {
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    const { url } = await scripted(() => isAsked());
    const { statuses, clock } = clientsOf(url, { maxAttempts: 1 });
    const call = statuses.get('1');
    const expectation = expect(call).rejects.toMatchObject({
      code: 'timed_out',
      message: expect.stringContaining('no answer in time. Try again'),
      cause: expect.objectContaining({ name: 'AbortError' }),
    });
    await asked;
    clock.timeOut();
    await expectation;
  });
  test('make a removal safe, when it was carried out without an answer, though it is not found any more', async () => {
    const { url, got } = await scripted(drop, [404, { error: 'Record not found' }]);
    await clientsOf(url).statuses.cancel('1');
    expect(got).toHaveLength(2);
    const limited = await scripted([429], [404, {}]);
    await expect(clientsOf(limited.url).webhooks.delete('1')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a signal', () => {
  test('keeps a call from being sent, when it is aborted before', async () => {
    const { url, got } = await scripted([200, STATUS]);
    const signal = AbortSignal.abort(new Error('never mind'));
    await expect(clientsOf(url).statuses.get('1', { signal })).rejects.toThrow('never mind');
    expect(got).toEqual([]);
  });
  test('ends a call, when it is aborted while the provider thinks, with its reason', async () => {
    const controller = new AbortController();
    const { url, got } = await scripted(() => controller.abort(new Error('never mind')));
    const { statuses, clock } = clientsOf(url);
    await expect(statuses.get('1', { signal: controller.signal })).rejects.toThrow('never mind');
    expect([got.length, clock.pending]).toEqual([1, 0]);
  });
  test('ends a call, when it is aborted during a wait, with its reason', async () => {
    const controller = new AbortController();
    const { url, got } = await scripted([500]);
    const onRetry = () => controller.abort(new Error('never mind'));
    const { statuses } = clientsOf(url, { onRetry });
    await expect(statuses.get('1', { signal: controller.signal })).rejects.toThrow('never mind');
    expect(got).toHaveLength(1);
  });
  test('reaches every page, when a list is aborted between two', async () => {
    const controller = new AbortController();
    const { url } = await scripted([200, [STATUS]]);
    const listing = async () => {
      for await (const _ of clientsOf(url).statuses.list({}, { signal: controller.signal }))
        controller.abort();
    };
    await expect(listing()).rejects.toMatchObject({ name: 'AbortError' });
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
  test('ends a removal, when it is another service, all the same', async () => {
    const { url } = await scripted([302, {}, { Location: 'https://elsewhere.example/' }]);
    await expect(clientsOf(url).webhooks.delete('1')).rejects.toMatchObject({ code: 'unexpected_answer' });
  });
});
