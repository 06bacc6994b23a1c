import { createServer } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/notification/json.ts';
import { listeningOn } from '../mock/support/listening.ts';

/** A request as a receiver sees it. */
export interface Received {
  readonly method: string | undefined;
  readonly text: string;
  readonly body: JsonObject;
  /** What follows `Bearer `. */
  readonly token: string;
}

/** How to answer the request of this number, from 1, and after how long; undefined never answers. */
export type Answering = (
  number: number,
  body: JsonObject,
) => { status?: number; headers?: Record<string, string>; body?: string; ms?: number } | undefined;

/** A plain HTTP server at a webhook_url. */
export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** @param answer at first; it takes everything by default */
export async function startReceiver(answer: Answering = () => ({})) {
  const received: Received[] = [];
  const underWay: unknown[] = [];
  const receiver = {
    received,
    /** The members `event` and `media_id` of what was received, in order. */
    events: () => received.map(({ body }) => body.event),
    media: () => received.map(({ body }) => body.media_id),
    answer,
    /** how many requests were under way at once, at most */
    most: 0,
    /** media of which two were under way at once */
    overlaps: [] as unknown[],
  };
  const server = createServer(async (request, response) => {
    const text = await textOf(request);
    const body: JsonObject = JSON.parse(text);
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
    received.push({ method: request.method, text, token, body });
    if (underWay.includes(body.media_id)) receiver.overlaps.push(body.media_id);
    receiver.most = Math.max(receiver.most, underWay.push(body.media_id));
    const given = receiver.answer(received.length, body);
    if (given?.ms) await sleep(given.ms);
    underWay.splice(underWay.indexOf(body.media_id), 1);
    const taken = '{"status":"accepted","id":"x"}';
    if (given) response.writeHead(given.status ?? 200, given.headers).end(given.body ?? taken);
  });
  const { url, close } = await listeningOn(server);
  return Object.assign(receiver, { url: `${url}/hook`, close });
}
