import type { RequestListener, Server } from 'node:http';
import { InFlight } from './in-flight.ts';
import { http } from './node-http.ts';
import { keepYoungSpaceSmall } from './young-space.ts';

export interface BoundedServerOptions {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** largest body that a request may have, in bytes */
  readonly bodyLimit: number;
  /** connections held open at once; beyond, those go that were of no use for longest */
  readonly maxConnections: number;
}

/** Room for headers other than the token. */
const OTHER_HEADERS = 16_384;

const MIB = 1024 * 1024;
/** Bytes of requests that clients have not sent to their end, of all connections together; more, while little else is held. */
const MOST_UNFINISHED = 4 * MIB;
/** Bytes of requests that wait for their answer, of all connections together. */
const MOST_UNANSWERED = 8 * MIB;

const refuseExpectation: RequestListener = (_req, res) => {
  res.writeHead(417).end();
};

/** How long the headers of a request may be, in bytes: the token holds the whole body in base64. */
export function largestHead(bodyLimit: number): number {
  return Math.ceil((bodyLimit * 4) / 3) + OTHER_HEADERS;
}

/** An HTTP server that drops clients that are too slow, and bounds the memory that all of them together occupy. */
export function boundedServer(app: RequestListener, options: BoundedServerOptions): Server {
  // With Node's 16 KiB a large body could never be verified.
  const maxHeaderSize = largestHead(options.bodyLimit);
  const wholeRequest = maxHeaderSize + options.bodyLimit;
  const inFlight = new InFlight({
    mostUnfinished: Math.max(MOST_UNFINISHED, wholeRequest),
    mostUnanswered: MOST_UNANSWERED,
    mostConnections: options.maxConnections,
    mostHeaders: maxHeaderSize,
    // Its space for young objects would grow to hold what clients make it hold.
    onPressure: (isPressed) => keepYoungSpaceSmall('requests', isPressed),
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
