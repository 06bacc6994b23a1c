import { afterEach, describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { clientsOf, STATUS } from './clients.ts';
import { closeAll, type Script, scripted } from './support.ts';

afterEach(closeAll);

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
    [
      'Retry-After that Date.parse takes for a date',
      429,
      { ...date, 'Retry-After': '1.5', 'X-RateLimit-Reset': '1767225609' },
      [9000],
    ],
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
    const { url, got } = await scripted(
      (response) => response.destroy(),
      [404, { error: 'Record not found' }],
    );
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
  test('ends a call, when it is aborted during a wait, with its reason and no timer left', async () => {
    const controller = new AbortController();
    const { url, got } = await scripted([500]);
    const clock = new VirtualClock();
    const onRetry = () => setImmediate(() => controller.abort(new Error('never mind')));
    const { statuses } = clientsOf(url, { onRetry, clock });
    await expect(statuses.get('1', { signal: controller.signal })).rejects.toThrow('never mind');
    expect([got.length, clock.nextDue()]).toEqual([1, undefined]);
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
