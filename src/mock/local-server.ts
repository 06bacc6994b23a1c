import { once } from 'node:events';
import http, { type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';

/** An HTTP server without a port: its requests come over pairs of streams, and everything else of HTTP is as ever. */
export class LocalServer {
  readonly #server: http.Server;

  /** @param maxHeaderSize in bytes */
  constructor(listener: RequestListener, maxHeaderSize: number = http.maxHeaderSize) {
    this.#server = http.createServer({ maxHeaderSize }, listener);
  }

  /** As `fetch` does, with a text as body. @throws Error if the server closes the connection without an answer */
  async fetch(url: string, { method = 'GET', headers, body }: RequestInit = {}): Promise<Response> {
    const [near, far] = duplexPair();
    this.#server.emit('connection', far);
    const request = http.request(url, {
      method,
      headers: { ...Object.fromEntries(new Headers(headers)), connection: 'close' },
      createConnection: () => near as Socket,
    });
    request.end(body ?? undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const answer = await text(response);
    const given = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
    const init = { status: response.statusCode ?? 0, headers: Object.fromEntries(given) };
    return new Response(answer === '' ? null : answer, init);
  }
}
