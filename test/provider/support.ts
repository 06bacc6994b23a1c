import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { Random } from '../../src/mock/random.ts';
import { createStatusesApi } from '../../src/mock/statuses/index.ts';
import { StatusesClient } from '../../src/provider/index.ts';
import { WaitingClock } from './waiting-clock.ts';

/** Something to call `close` on after a test. */
interface Closable {
  close(): unknown;
}

const open: Closable[] = [];

/** Closes what was started in a test; to be given to afterEach. */
export async function closeAll(): Promise<void> {
  for (const one of open.splice(0)) await one.close();
}

export function closing<T extends Closable>(one: T): T {
  open.push(one);
  return one;
}

async function listen(handler: RequestListener) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing({
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A request as a server got it. */
export interface Got {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** What a server is to answer: a status with JSON and headers, or anything else that one can do to a response. */
export type Script =
  | readonly [number, unknown?, Record<string, string>?]
  | ((response: ServerResponse, got: Got) => void);

/** A server that answers its requests one after another as told; the last answer is given again and again. */
export async function scripted(...scripts: readonly Script[]): Promise<{ url: string; got: Got[] }> {
  const got: Got[] = [];
  const url = await listen(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = '', url: path = '', headers } = request;
    got.push({ method, url: path, headers, body });
    const script = scripts[Math.min(got.length, scripts.length) - 1] ?? ([500] as const);
    if (typeof script === 'function') return script(response, { method, url: path, headers, body });
    const [status, json, more = {}] = script;
    response.writeHead(status, { 'Content-Type': 'application/json', ...more });
    response.end(status === 204 ? undefined : JSON.stringify(json ?? {}));
  });
  return { url, got };
}

/** An address at which nobody listens. */
export async function deadUrl(): Promise<string> {
  const url = await listen(() => undefined);
  await closeAll();
  return url;
}

/** The mock of the scheduled statuses API and a client of it, both on one clock. */
export async function startStatuses(token = 'alice-rw') {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  let url = '';
  const api = createStatusesApi({
    clock,
    random: new Random(1),
    requests: new Random(2),
    baseUrl: () => url,
  });
  url = await listen(express().use(api.router));
  const requests: string[] = [];
  const recording: typeof fetch = (input, init) => {
    requests.push(`${init?.method} ${String(input).slice(url.length)}`);
    return fetch(input, init);
  };
  const client = new StatusesClient({ baseUrl: url, token, clock, fetch: recording });
  return { url, clock, client, requests };
}

/** A client’s options under which nothing waits and every wait is on record. */
export function patient() {
  const clock = new WaitingClock();
  return { clock, options: { clock, random: () => 0.5, timeoutMs: 10_000_000 } };
}

/** What a list gives, to its end. */
export async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of list) all.push(one);
  return all;
}
