import { createServer } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import type { JsonObject } from '../../../src/notification/json.ts';
import { listeningOn } from './listening.ts';

/** A request as a receiver sees it. */
export interface Received {
  readonly method: string | undefined;
  readonly text: string;
  readonly body: JsonObject;
  /** What follows `Bearer `. */
  readonly token: string;
}

/** How to answer the request of this number, from 1; undefined never answers. */
export type Answering = (
  number: number,
) => { status: number; headers?: Record<string, string>; body?: string } | undefined;

/** A plain HTTP server at a webhook_url. */
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

export async function startReceiver() {
  const received: Received[] = [];
  const answer: Answering = () => ({ status: 200, body: 'ok' });
  const taking = {
    received,
    /** The members `event` of what was received, in order. */
    events: () => received.map(({ body }) => body.event),
    answer,
  };
  const server = createServer(async (request, response) => {
    const text = await textOf(request);
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    received.push({ method: request.method, text, token, body: JSON.parse(text) });
    const given = taking.answer(received.length);
    if (given) response.writeHead(given.status, given.headers).end(given.body);
  });
  const { url, close } = await listeningOn(server);
  return Object.assign(taking, { url: `${url}/hook`, close });
}
