import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isOwnHost } from '../../src/inspector/admin-app.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

let inspected: Inspected;
beforeAll(async () => {
  inspected = await inspect({}, { ADMIN_NAMES: 'admin.example' });
});
afterAll(() => inspected.dispose());

describe('the Host of a request', () => {
  test.each(['evil.example', 'evil.example:3001', '127.0.0.1.evil.example', '10.0.0.1', '', 'a b', '[::2]'])(
    'is refused on every route, when it is %j and the listener is on loopback, with 421',
    async (host) => {
      for (const path of ['/', '/events', '/metrics', '/api/stats', '/api/stream', '/assets/inspector.css']) {
        // An empty Host cannot be sent by Node's client.
        if (host === '') continue;
        expect((await inspected.raw(path, { headers: { host } })).status).toBe(421);
      }
      expect(isOwnHost(host, { ADMIN_HOST: '127.0.0.1', ADMIN_NAMES: [] })).toBe(false);
    },
  );

  test.each(['127.0.0.1', '127.0.0.1:1', 'localhost:3001', 'LOCALHOST', '[::1]:3001', 'admin.example:80'])(
    'is taken, when it is %j, with 200',
    async (host) => {
      expect((await inspected.raw('/api/stats', { headers: { host } })).status).toBe(200);
    },
  );

  test.each([
    ['0.0.0.0', '10.1.2.3:3001', true],
    ['::', '[2001:db8::1]:3001', true],
    ['0.0.0.0', 'evil.example', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.4', false],
    ['admin.internal', 'ADMIN.internal:3001', true],
  ])('of a listener on %s, when it is %s, is taken: %s', (ADMIN_HOST, host, taken) => {
    expect(isOwnHost(host, { ADMIN_HOST, ADMIN_NAMES: [] })).toBe(taken);
  });
});

describe('the origin of a request', () => {
  test.each([
    ['a foreign Origin', { origin: 'https://evil.example' }],
    ['the Origin of a sandbox', { origin: 'null' }],
    ['another port of this machine', { origin: 'http://127.0.0.1:1' }],
    ['an Origin with our address in its name', { origin: 'http://evil.example#127.0.0.1' }],
    ['another site, where the browser sends no Origin', { 'sec-fetch-site': 'cross-site' }],
    ['a neighbour on the same site', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }],
  ])('of a replay is refused, when it is %s, with 403 and nothing replayed', async (_what, headers) => {
    const body = JSON.stringify({ all: true });
    const options = { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } };
    expect((await inspected.raw('/api/events/replay', options)).status).toBe(403);
    expect((await inspected.raw('/events/replay', options)).status).toBe(403);
  });

  test.each(['/api/stats', '/api/stream', '/metrics', '/'])(
    'of a request for %s is refused, when another site asks for it, with 403',
    async (path) => {
      expect((await inspected.raw(path, { headers: { origin: 'http://evil.example' } })).status).toBe(403);
      const script = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
      expect((await inspected.raw(path, { headers: script })).status).toBe(403);
    },
  );
});

test('a page may load nothing but what is ours, when a browser asks, by its policy', async () => {
  const { headers } = await inspected.raw('/');
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(headers['cross-origin-resource-policy']).toBe('same-origin');
  expect(headers['cache-control']).toBe('no-store');
});
