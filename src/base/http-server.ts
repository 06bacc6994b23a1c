import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { promisify } from 'node:util';
import { pause, systemClock } from './clock.ts';
import { KitError, messageOf } from './errors.ts';

/** Importing it would load Node's fetch and WebSocket as well, which take 8 MB of every server. */
const { createServer } = process.getBuiltinModule('node:http');

/** By the names of their settings. */
export interface Bounds {
  readonly HEADERS_TIMEOUT_MS: number;
  readonly REQUEST_TIMEOUT_MS: number;
  readonly KEEP_ALIVE_TIMEOUT_MS: number;
  /** largest body that a request may have, in bytes */
  readonly BODY_LIMIT: number;
  /** connections held open at once; Node closes further ones as they come */
  readonly MAX_CONNECTIONS: number;
}

/** How long the headers of a request may be, in bytes: the token holds the whole body in base64, and the others have 16 KiB. */
export function largestHead(bodyLimit: number): number {
  return Math.ceil((bodyLimit * 4) / 3) + 16_384;
}

/** A body may come in so many reads, or else in pieces of so many bytes on average: each piece takes some 200 bytes beside its own. */
const MOST_READS = 1000;
const SMALLEST_PIECE = 64;

/** Cuts a request off whose body comes in very many tiny pieces. It looks only at a body that is being read, and has the bytes for so many. */
function cutOffTinyPieces(req: IncomingMessage): void {
  if (Number(req.headers['content-length']) <= MOST_READS) return;
  let [reads, bytes] = [0, 0];
  // Earlier, a listener of data would have the body begin before its reader is there.
  req.once('resume', () =>
    req.on('data', (piece: Buffer) => {
      reads++;
      bytes += piece.length;
      if (reads > MOST_READS && bytes < reads * SMALLEST_PIECE) req.destroy();
    }),
  );
}

/** An HTTP server that drops clients that are too slow or too many, and has one request of a connection under way. */
export function boundedServer(app: RequestListener, bounds: Bounds): Server {
  const headersTimeout = bounds.HEADERS_TIMEOUT_MS;
  const server = createServer(
    {
      headersTimeout,
      requestTimeout: Math.max(bounds.REQUEST_TIMEOUT_MS, headersTimeout),
      keepAliveTimeout: bounds.KEEP_ALIVE_TIMEOUT_MS,
      maxHeaderSize: largestHead(bounds.BODY_LIMIT), // with Node's 16 KiB a large body could never be verified
      connectionsCheckingInterval: Math.min(1000, headersTimeout),
    },
    oneAtATime(app),
  );
  server.maxConnections = bounds.MAX_CONNECTIONS;
  return server;
}

/**
 * Answers one request of a connection at a time. If a client sends the next one before that answer, the answer is the last on this
 * connection. Proxies and the provider wait for it.
 */
function oneAtATime(app: RequestListener): RequestListener {
  const underWay = new WeakMap<Socket, ServerResponse | 'the last'>();
  return (req, res) => {
    const { socket } = req;
    const first = underWay.get(socket);
    if (!first) {
      underWay.set(socket, res);
      res.once('close', () => underWay.delete(socket));
      cutOffTinyPieces(req);
      app(req, res);
    } else if (first !== 'the last') {
      underWay.set(socket, 'the last');
      if (!first.headersSent) first.setHeader('Connection', 'close');
      first.once('finish', () => socket.destroySoon());
    }
  };
}

/** `port`: 0 takes any free one. `settings` names what the user sets to have it listen elsewhere, for the error: `HOST and PORT` */
type Place = Readonly<{ host: string; port: number; settings: string }>;

/** How long a client that keeps its connection open may find out, by a 503, that the service is going away. */
const FAREWELL_MS = 500;
/** How often connections are looked at. */
const LOOK_MS = 20;

/** A server that listens. */
export type Listener = Awaited<ReturnType<typeof listen>>;

/**
 * Has a server listen. The network is real, so its times are those of the machine's clock.
 * @throws KitError LISTEN_FAILED if the address is taken or not to be had
 */
export async function listen(server: Server, { host, port: wanted, settings }: Place) {
  server.listen(wanted, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const message = `cannot listen on ${host}:${wanted}: ${messageOf(cause)}; change ${settings}`;
    throw new KitError('LISTEN_FAILED', message, { cause });
  }
  const { port } = server.address() as AddressInfo;
  return {
    port,
    /** as a program on this machine asks for it: `http://127.0.0.1:4010` */
    url: urlOf(host, port),
    /** Stops at once: requests under way are cut off, endless answers too. */
    async stop(): Promise<void> {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
    /**
     * Answers what comes on open connections until they are gone (the app now says 503 and `Connection: close`), then closes idle
     * connections. Requests that have not ended within the grace, in milliseconds, are cut off.
     */
    async close(graceMs: number): Promise<void> {
      const connections = promisify(server.getConnections.bind(server));
      const end = systemClock.monotonic() + FAREWELL_MS;
      while (systemClock.monotonic() < end && (await connections()) > 0) await pause(systemClock, LOOK_MS);
      // Node closes those that are idle now, and the others soon after their answers.
      server.keepAliveTimeout = 1;
      server.keepAliveTimeoutBuffer = 0;
      // A closed server looks at no time-outs any more, and one silent connection would keep it for ever.
      const cutOff = systemClock.after(graceMs, () => server.closeAllConnections());
      await server[Symbol.asyncDispose]();
      cutOff();
    },
  };
}

/** An address of "everywhere" is no address to go to. */
const REACHABLE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' };

/** Where a program on this machine reaches a listener on this host. */
export function urlOf(host: string, port: number): string {
  return `http://${REACHABLE[host] ?? (host.includes(':') ? `[${host}]` : host)}:${port}`;
}
