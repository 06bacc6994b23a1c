import { createServer } from 'node:http';
import { beforeEach } from '@jest/globals';
import express from 'express';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { Random } from '../../../src/mock/random.ts';
import { createStatusesApi } from '../../../src/mock/statuses/index.ts';
import { listeningOn } from '../support/listening.ts';

/** When the virtual clocks of these tests start. */
export const NOW = Date.UTC(2026, 0, 1);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** A moment `ms` after the start, as ISO 8601. */
export const at = (ms: number) => new Date(NOW + ms).toISOString();

interface Sent {
  readonly token?: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: RequestInit['body'];
  readonly headers?: Readonly<Record<string, string>>;
}

/** JSON that a test looks into without knowing its shape; what is not there is undefined. */
// biome-ignore lint/suspicious/noExplicitAny: a test says itself what shape it expects
export type Json = any;

interface Received extends Pick<Response, 'status' | 'headers'> {
  readonly body: Json;
}

/** The API under a virtual clock, on a port of its own. */
export async function startApi(now = NOW) {
  const clock = new VirtualClock(now);
  const baseUrl = () => url;
  const api = createStatusesApi({ clock, random: new Random(1), baseUrl });
  const { url } = await listeningOn(createServer(express().use(api.router)));

  async function request(method: string, path: string, sent: Sent = {}): Promise<Received> {
    const headers = new Headers(sent.headers);
    if (sent.token !== '') headers.set('Authorization', `Bearer ${sent.token ?? 'alice-rw'}`);
    if (sent.json !== undefined) headers.set('Content-Type', 'application/json');
    const body = sent.json === undefined ? sent.body : JSON.stringify(sent.json);
    const response = await fetch(`${url}${path}`, { method, headers, ...(body != null && { body }) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
  }

  return {
    url,
    clock,
    request,
    get: (path: string, sent?: Sent) => request('GET', path, sent),
    post: (json: object, sent: Sent = {}) => request('POST', STATUSES, { json, ...sent }),
    /** Uploads a small file; the mock looks at its type only. */
    async upload(type = 'image/png', token = 'alice-rw'): Promise<string> {
      const form = new FormData();
      form.append('file', new File(['not really'], 'picture.png', { type }));
      return (await request('POST', MEDIA, { body: form, token })).body.id;
    },
    /** Schedules a status for some time after the start and returns its id. */
    async schedule(ms: number, more: object = {}, token = 'alice-rw'): Promise<string> {
      const json = { status: 'hello', scheduled_at: at(ms), ...more };
      const { status, body } = await request('POST', STATUSES, { token, json });
      if (status !== 200) throw new Error(`not scheduled: ${JSON.stringify(body)}`);
      return body.id;
    },
    /** Goes on to the next window of the rate limit. */
    nextWindow: () => clock.advance(5 * MINUTE),
  };
}

export type Api = Awaited<ReturnType<typeof startApi>>;

/** The API of the test that runs, in files that call `useApi`. */
export let api: Api;

/** Starts the API for each test of a file or a `describe`. */
export function useApi(now = NOW): void {
  beforeEach(async () => {
    api = await startApi(now);
  });
}

export const LIST = '/api/v1/scheduled_statuses';
export const STATUSES = '/api/v1/statuses';
export const MEDIA = '/api/v2/media';
