import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Importing it would load Node's fetch and WebSocket as well, which take 8 MB of every server. */
const { createServer } = process.getBuiltinModule('node:http');

export interface BoundedServerOptions {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** largest body that a request may have, in bytes */
  readonly bodyLimit: number;
  /** connections held open at once; Node closes further ones as they come */
  readonly maxConnections: number;
}

/** Room for headers other than the token. */
const OTHER_HEADERS = 16_384;

/** How long the headers of a request may be, in bytes: the token holds the whole body in base64. */
export function largestHead(bodyLimit: number): number {
  return Math.ceil((bodyLimit * 4) / 3) + OTHER_HEADERS;
}

/** An HTTP server that drops clients that are too slow or too many, and has one request of a connection under way. */
export function boundedServer(app: RequestListener, options: BoundedServerOptions): Server {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, bodyLimit, maxConnections } = options;
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: Math.max(requestTimeoutMs, headersTimeoutMs),
      keepAliveTimeout: keepAliveTimeoutMs,
      maxHeaderSize: largestHead(bodyLimit), // with Node's 16 KiB a large body could never be verified
      connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
    },
    oneAtATime(app),
  );
  server.maxConnections = maxConnections;
  return server;
}

/** Requests behind one that is not answered, on one connection, beyond which it is closed at once: each of them takes memory. */
const MOST_BEHIND = 16;

/**
 * Answers one request of a connection at a time. If a client sends the next one before that answer, the answer is the last on this
 * connection. Proxies and the provider wait for it.
 */
function oneAtATime(app: RequestListener): RequestListener {
  const underWay = new WeakMap<Socket, { readonly res: ServerResponse; behind: number }>();
  return (req, res) => {
    const { socket } = req;
    const first = underWay.get(socket);
    if (!first) {
      underWay.set(socket, { res, behind: 0 });
      res.once('close', () => underWay.delete(socket));
      app(req, res);
    } else if (++first.behind === 1) {
      if (!first.res.headersSent) first.res.setHeader('Connection', 'close');
      first.res.once('finish', () => socket.destroySoon());
    } else if (first.behind > MOST_BEHIND) {
      socket.destroy();
    }
  };
}
