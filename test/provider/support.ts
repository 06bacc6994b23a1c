import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type ProviderError, type Retry, StatusesClient, WebhooksClient } from '../../src/provider/index.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { freePort } from '../support/free-port.ts';

/** A request as a server got it. */
export interface Got {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What a server is to answer: a status with JSON and headers, or anything else that one can do to a response. */
export type Script =
  | readonly [number, unknown?, Record<string, string>?]
  | ((response: ServerResponse, got: Got) => unknown);

/** A server that answers its requests one after another as told; the last answer is given again and again. */
export async function scripted(...scripts: readonly Script[]): Promise<{ url: string; got: Got[] }> {
  const got: Got[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: Buffer.concat(await request.toArray()).toString() };
    got.push(one);
    const script = scripts[Math.min(got.length, scripts.length) - 1] ?? ([500] as const);
    if (typeof script === 'function') return script(response, one);
    const [status, json = {}, more] = script;
    response.writeHead(status, { 'Content-Type': 'application/json', ...more }).end(JSON.stringify(json));
  });
  const { url } = await listeningOn(server);
  return { url, got };
}

/** An address at which nobody listens. */
export const NOWHERE = `http://127.0.0.1:${await freePort()}`;

/** Both clients, on a clock on which waits are over at once and are noted, and what they say of their retries. */
export function clientsOf(baseUrl: string, more = {}) {
  const waits: number[] = [];
  const retries: Retry[] = [];
  const clock = {
    now: () => Date.UTC(2026, 0, 1),
    after(ms: number, fn: () => unknown) {
      waits.push(ms);
      queueMicrotask(fn);
      return () => undefined;
    },
  };
  const onRetry = (retry: Retry) => retries.push(retry);
  const options = { baseUrl, clock, random: () => 0.5, onRetry, ...more };
  return {
    waits,
    retries,
    statuses: new StatusesClient({ token: 't0ken', ...options }),
    webhooks: new WebhooksClient({ apiSecret: 's3cret', ...options }),
  };
}

/** How a call fails. */
export const failureOf = (call: Promise<unknown>): Promise<ProviderError> =>
  call.then(
    () => new Error('nothing went wrong'),
    (error) => error,
  );

/** Answers as the provider gives them. */
export const STATUS = {
  id: '1',
  scheduled_at: '2026-01-02T00:00:00.000Z',
  params: { text: 'x' },
  media_attachments: [],
};
export const NEW_HOOK = { name: 'x', webhook_url: 'https://x.example', events: [], site_ids: [] };
export const HOOK = {
  id: '2yW4KmiG',
  type: 'webhook',
  created: '2024-08-27T00:20:57.123000+00:00',
  last_modified: '2024-08-27T00:20:57.123000+00:00',
  metadata: { ...NEW_HOOK, description: null },
  schema: null,
  secret: 'shared',
};
export const SOON = '2026-01-02T00:00:00Z';
