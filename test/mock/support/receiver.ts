import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { JsonObject } from '../../../src/notification/json.ts';
import { listeningOn } from './listening.ts';

/** A request as a receiver sees it. Nothing is parsed before somebody asks: there are tens of thousands in a test. */
export class Received {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;

  constructor(method: string, headers: IncomingHttpHeaders, text: string) {
    this.method = method;
    this.headers = headers;
    this.text = text;
  }

  get body(): JsonObject {
    return JSON.parse(this.text);
  }

  /** What follows `Bearer `. */
  get token(): string {
    return (this.headers.authorization ?? '').replace(/^Bearer /, '');
  }
}

/** How to answer the request of this number, from 1; undefined never answers. */
export type Answering = (
  number: number,
) => { status: number; headers?: Record<string, string>; body?: string } | undefined;

/** A plain HTTP server at a webhook_url. */
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** The members `event` of what was received, in order. */
  events(): unknown[];
  answer: Answering;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      received.push(new Received(request.method ?? '', request.headers, text));
      const answer = receiver.answer(received.length);
      if (answer) response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  });
  const { url, close } = await listeningOn(server);
  const receiver: Receiver = {
    url: `${url}/hook`,
    received,
    events: () => received.map(({ body }) => body.event),
    answer: () => ({ status: 200, body: 'ok' }),
    close,
  };
  return receiver;
}
