import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import v8 from 'node:v8';
import { KitError, messageOf } from './errors.ts';
import { InFlight } from './in-flight.ts';
import { http } from './node-http.ts';

export interface BoundedServerOptions {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** largest body that a request may have, in bytes */
  readonly bodyLimit: number;
  /** connections held open at once; beyond, those go that were of no use for longest */
  readonly maxConnections: number;
}

export interface ListenerOptions extends BoundedServerOptions {
  readonly host: string;
  readonly port: number;
}

/** How long a client that keeps its connection open may find out, by a 503, that the service is going away. */
const FAREWELL_MS = 500;

/** Room for headers other than the token. */
const OTHER_HEADERS = 16_384;

const MIB = 1024 * 1024;
/** Bytes of requests that clients have not sent to their end, of all connections together; more, while little else is held. */
const MOST_UNFINISHED = 8 * MIB;
/** Bytes of requests that wait for their answer, of all connections together. */
const MOST_UNANSWERED = 16 * MIB;

/**
 * While clients make the process hold much, V8 is not to double its space for young objects again and again: it takes up to
 * 100 MB and never gives it back. At other times a larger space makes acks a seventh cheaper.
 */
function keepYoungSpaceSmall(isPressed: boolean): void {
  v8.setFlagsFromString(`--semi-space-growth-factor=${isPressed ? 1 : 2}`);
}

const refuseExpectation: RequestListener = (_req, res) => {
  res.writeHead(417).end();
};

/** An HTTP server that drops clients that are too slow, and bounds what all of them together make it hold. */
export function boundedServer(app: RequestListener, options: BoundedServerOptions): Server {
  // The token holds the whole body in base64: with Node's 16 KiB a large body could never be verified.
  const maxHeaderSize = Math.ceil((options.bodyLimit * 4) / 3) + OTHER_HEADERS;
  const wholeRequest = maxHeaderSize + options.bodyLimit;
  const inFlight = new InFlight({
    mostUnfinished: Math.max(MOST_UNFINISHED, wholeRequest),
    mostUnanswered: MOST_UNANSWERED,
    mostConnections: options.maxConnections,
    mostHeaders: maxHeaderSize,
    onPressure: keepYoungSpaceSmall,
  });
  const server = http.createServer(
    {
      headersTimeout: options.headersTimeoutMs,
      requestTimeout: Math.max(options.requestTimeoutMs, options.headersTimeoutMs),
      keepAliveTimeout: options.keepAliveTimeoutMs,
      maxHeaderSize,
      connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
    },
    (req, res) => inFlight.take(req, res, app),
  );
  server.on('connection', (socket) => inFlight.add(socket));
  // Answered here and not by node:http, so that these wait for their turn like all others.
  server.on('checkExpectation', (req, res) => inFlight.take(req, res, refuseExpectation));
  return server;
}

/** A bounded server that cuts no request off when it closes. */
export class Listener {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @throws KitError LISTEN_FAILED if the address is taken or not to be had */
  static async start(app: RequestListener, options: ListenerOptions): Promise<Listener> {
    const server = boundedServer(app, options);
    server.listen(options.port, options.host);
    try {
      await once(server, 'listening');
    } catch (cause) {
      const message = `cannot listen on ${options.host}:${options.port}: ${messageOf(cause)}; set HOST and PORT`;
      throw new KitError('LISTEN_FAILED', message, { cause });
    }
    return new Listener(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Answers what comes on open connections until they are gone (the app now says 503 and `Connection: close`), then
   * closes those that stay idle. What has not come to an end within the grace, in milliseconds, is cut off.
   */
  async close(graceMs: number): Promise<void> {
    const closed = once(this.#server, 'close');
    const began = Date.now();
    // A closed server looks at no time-outs any more, and one silent connection would keep it for ever.
    const giveUp = setTimeout(() => this.#server.closeAllConnections(), FAREWELL_MS + graceMs);
    const timer = setInterval(() => {
      this.#server.getConnections((_error, count) => {
        if (count > 0 && Date.now() < began + FAREWELL_MS) return;
        this.#server.close();
        this.#server.closeIdleConnections();
      });
    }, 20);
    await closed;
    clearInterval(timer);
    clearTimeout(giveUp);
  }
}
