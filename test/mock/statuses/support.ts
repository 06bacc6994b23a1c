import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { Random } from '../../../src/mock/random.ts';
import { createStatusesApi } from '../../../src/mock/statuses/index.ts';

/** When the virtual clocks of these tests start. */
export const NOW = Date.UTC(2026, 0, 1);
export const MINUTE = 60_000;
export const DAY = 86_400_000;

/** A moment `ms` after the start, as ISO 8601. */
export const at = (ms: number) => new Date(NOW + ms).toISOString();

export interface Sent {
  readonly token?: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: RequestInit['body'];
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON, whatever it is: each test says what it expects of it. */
  readonly body: Json;
}

/** JSON that a test looks into without knowing its shape; what is not there is undefined. */
// biome-ignore lint/suspicious/noExplicitAny: a test says itself what shape it expects
export type Json = any;

/** The API under a virtual clock, on a port of its own. */
export async function startApi({ now = NOW }: { readonly now?: number } = {}) {
  const clock = new VirtualClock(now);
  let url = '';
  const api = createStatusesApi({
    clock,
    random: new Random(1),
    requests: new Random(2),
    baseUrl: () => url,
  });
  const server = createServer(express().use(api.router));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;

  async function request(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const headers = new Headers(sent.headers);
    if (sent.token !== '') headers.set('Authorization', `Bearer ${sent.token ?? 'alice-rw'}`);
    if (sent.json !== undefined) headers.set('Content-Type', 'application/json');
    const body = sent.json === undefined ? sent.body : JSON.stringify(sent.json);
    const response = await fetch(`${url}${path}`, { method, headers, ...(body != null && { body }) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: JSON.parse(text) };
  }

  return {
    url,
    clock,
    reset: () => api.reset(),
    request,
    get: (path: string, sent?: Sent) => request('GET', path, sent),
    /** Schedules a status for some time after the start and returns its id. */
    async schedule(ms: number, more: object = {}, token = 'alice-rw'): Promise<string> {
      const { status, body } = await request('POST', '/api/v1/statuses', {
        token,
        json: { status: 'hello', scheduled_at: at(ms), ...more },
      });
      if (status !== 200) throw new Error(`not scheduled: ${JSON.stringify(body)}`);
      return body.id;
    },
    /** Goes on to the next window of the rate limit. */
    nextWindow: () => clock.advance(5 * MINUTE),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export type Api = Awaited<ReturnType<typeof startApi>>;

export const LIST = '/api/v1/scheduled_statuses';
export const STATUSES = '/api/v1/statuses';
export const MEDIA = '/api/v2/media';

/** A small picture to upload; the mock looks at its type only. */
export function picture(type = 'image/png', name = 'picture.png'): FormData {
  const form = new FormData();
  form.append('file', new File(['not really'], name, { type }));
  return form;
}
