import http, { type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';

/** A request within this process. */
export interface LocalRequest {
  readonly method: string;
  /** with its query */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface LocalAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An HTTP server without a port: its requests come over pairs of streams, and everything else of HTTP is as ever. */
export class LocalServer {
  readonly #server;

  /** @param maxHeaderSize in bytes; Node's default without it */
  constructor(listener: RequestListener, maxHeaderSize?: number) {
    this.#server = http.createServer(maxHeaderSize === undefined ? {} : { maxHeaderSize }, listener);
  }

  /** @throws Error if the server closes the connection without an answer */
  request({ method, path, headers, body }: LocalRequest): Promise<LocalAnswer> {
    const [near, far] = duplexPair();
    this.#server.emit('connection', far);
    return new Promise((resolve, reject) => {
      const request = http.request({
        host: 'local.test',
        method,
        path,
        headers: { ...headers, Connection: 'close' },
        createConnection: () => near as Socket,
      });
      request.on('error', reject);
      request.on('response', (response) => {
        const given = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
        text(response).then(
          (answer) =>
            resolve({
              status: response.statusCode ?? 0,
              headers: Object.fromEntries(given),
              body: answer,
            }),
          reject,
        );
      });
      request.end(body);
    });
  }
}
