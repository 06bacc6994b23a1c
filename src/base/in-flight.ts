import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock } from './clock.ts';
import { Gathered } from './gathered.ts';

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly answer: RequestListener;
}

interface Connection {
  readonly socket: Socket;
  /** gives bytes to the parser of node:http */
  readonly parse: (bytes: Buffer) => void;
  /** bytes that came and are not parsed yet */
  readonly rest: Gathered;
  /** how far `rest` was looked through for the end of the headers */
  searched: number;
  /** whether the parser has the first byte of them */
  isBegun: boolean;
  /** the request that was parsed and has no answer yet, its body perhaps still to come */
  current: Exchange | undefined;
  /** requests that were parsed along with its end: only where its body came in chunks */
  readonly behind: Exchange[];
  /** whether the kernel is not asked for its bytes, although its socket believes that it is */
  isHalted: boolean;
  /** whether the next slice of its body, in chunks, is about to be parsed */
  isSliceAwaited: boolean;
  /** whether node:http would keep it open behind the answer to the request under way */
  isKept: boolean;
  /** bytes of its body still to be parsed; where they come in chunks, without end, and none before the app has begun */
  bodyLeft: number;
  /** received bytes without an answer yet, and the cost of requests beside their bytes */
  held: number;
  /** when the first of them came, or the last answer went */
  since: number;
  /** when a notification on it was last acknowledged */
  acknowledgedAt: number;
  /** whether its last answer needs no secret: a refusal, or that the process lives */
  takesTurns: boolean;
}

export interface InFlightOptions {
  /** bytes of unfinished requests that are kept, once all bounds together are reached */
  readonly mostUnfinished: number;
  /** bytes of requests that wait for their answer, beyond which nothing more is read */
  readonly mostUnanswered: number;
  /** bytes that the headers of one request may have */
  readonly mostHeaders: number;
  readonly mostConnections: number;
  /** told when much begins to be held, and when little is held again */
  readonly onPressure: (isPressed: boolean) => void;
}

const END_OF_HEADERS = '\r\n\r\n';
const CR = 0x0d;
const LF = 0x0a;
/** Bytes of a body in chunks that are parsed in a turn of the event loop, as its end is not known yet. */
const SLICE = 1024;
const HEADERS_TOO_LARGE = 'HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n';
/** The cost of a request beside its bytes: objects of Node's and Express's. */
const REQUEST_COST = 4096;
/** Closing and waiting bring a sum down to this share of its bound, so that they are rare. */
const RELIEVED = 0.75;
/** When all is full, the sum is checked again after it has grown by so many bytes. */
const STEP = 1024 * 1024;
/** How often it is checked while nothing comes, as all is full. */
const RELIEVED_EVERY_MS = 20;
/** Bytes read in one turn of the event loop: memory of connections closed in a turn is free only at its end. */
const MOST_A_TURN = 512 * 1024;
/** Requests begun in one turn of the event loop on connections whose last answer needs no secret. */
const BEGUN_A_TURN = 8;
/** Connections that are read again in one turn of the event loop. */
const READ_ON_A_TURN = 64;
/** Held bytes that are much, and that are little again; usual traffic is far below both. */
const MUCH = 2 * 1024 * 1024;
const LITTLE = 1024 * 1024;
/** For so long after an acknowledgement, the client of a connection counts as one that can sign. */
const TRUSTED_MS = 10_000;

/**
 * Bounds the memory that clients occupy, and how long they keep the process from others.
 *
 * - A connection has one request under way. Bytes behind it are not parsed before it is answered.
 * - Unfinished requests of all connections together are bounded. Beyond the bound, connections are closed, first the ones
 *   that hold many bytes for long. A notification comes in a packet or a few and is gone in a moment.
 * - While many bytes wait for their answers, nothing more is read: it waits in the clients.
 * - Connections whose last answer needs no secret take turns, a few in each turn of the event loop, so that a
 *   notification on another connection never waits for all of them.
 */
export class InFlight {
  readonly #options: InFlightOptions;
  readonly #most: number;
  readonly #connections = new Map<Socket, Connection>();
  readonly #inTurn: Connection[] = [];
  /** connections that are not read for now, in the order in which they go on */
  readonly #stopped = new Set<Connection>();
  #held = 0;
  #lookAt: number;
  #isFull = false;
  #relievedAt = Number.NEGATIVE_INFINITY;
  #isPressed = false;
  #cameThisTurn = 0;
  #begunThisTurn = 0;
  #isTurnAwaited = false;

  constructor(options: InFlightOptions) {
    this.#options = options;
    this.#most = options.mostUnfinished + options.mostUnanswered;
    this.#lookAt = this.#most;
  }

  /**
   * Looks after a connection from its first byte. It replaces the listener through which node:http gives received
   * bytes to its parser. So the parser gets one request at a time, and its headers in one piece: it copies headers that
   * come in pieces, and keeps the copies while it waits in a pool for its next connection.
   */
  add(socket: Socket): void {
    const [parse] = socket.listeners('data');
    if (!parse) throw new Error('node:http does not listen to its connections any more');
    const connection: Connection = {
      socket,
      parse: (bytes) => parse.call(socket, bytes),
      rest: new Gathered(),
      searched: 0,
      isBegun: false,
      current: undefined,
      behind: [],
      isHalted: false,
      isSliceAwaited: false,
      isKept: false,
      bodyLeft: 0,
      held: 0,
      since: systemClock.monotonic(),
      acknowledgedAt: Number.NEGATIVE_INFINITY,
      takesTurns: false,
    };
    if (this.#connections.size >= this.#options.mostConnections) this.#closeIdlest();
    this.#connections.set(socket, connection);
    socket.removeAllListeners('data');
    socket.on('data', (chunk) => this.#came(connection, chunk));
    socket.on('close', () => this.#remove(connection));
    if (this.#isReadingStopped) this.#stop(connection);
  }

  /** Has a request answered when its turn comes. */
  take(req: IncomingMessage, res: ServerResponse, answer: RequestListener): void {
    const connection = this.#connections.get(req.socket);
    if (!connection) {
      res.destroy(); // closed a moment ago
      return;
    }
    this.#hold(connection, REQUEST_COST);
    const exchange = { req, res, answer };
    if (connection.current) connection.behind.push(exchange);
    else this.#start(connection, exchange);
  }

  #came(connection: Connection, chunk: Buffer): void {
    if (connection.held === 0) connection.since = systemClock.monotonic();
    connection.rest.add(chunk);
    this.#hold(connection, chunk.length);
    this.#parse(connection);
    if (this.#held > this.#lookAt) this.#relieve();
    this.#cameThisTurn += chunk.length;
    if (this.#isReadingStopped) this.#stopReading();
    this.#awaitTurn();
  }

  /** Gives the parser the bytes that came, but never more than to the end of one request. */
  #parse(connection: Connection): void {
    const { socket, rest } = connection;
    while (rest.length > 0 && !socket.destroyed) {
      const { current } = connection;
      if (current?.req.complete) {
        halt(connection);
        return;
      }
      const { bodyLeft } = connection;
      if (current && bodyLeft === Number.POSITIVE_INFINITY) {
        this.#parseSliceLater(connection);
        return;
      }
      const length = current ? Math.min(bodyLeft, rest.length) : this.#headersIn(connection);
      if (length === 0) return;
      if (current) connection.bodyLeft -= length;
      this.#give(connection, length);
    }
  }

  /** Once the body has come to its end, the connection may stay open behind the answer. */
  #give(connection: Connection, length: number): void {
    connection.rest.take(length, connection.parse);
    const { current, isKept } = connection;
    if (current?.req.complete) current.res.shouldKeepAlive = isKept;
  }

  /**
   * Gives the parser a slice of a body in chunks, in a turn of its own: tiny chunks take much more time than their bytes
   * are worth, and by then the headers may have been refused, or the slice before.
   */
  #parseSliceLater(connection: Connection): void {
    halt(connection);
    if (connection.isSliceAwaited) return;
    connection.isSliceAwaited = true;
    setImmediate(() => {
      connection.isSliceAwaited = false;
      const { socket, rest, current } = connection;
      // Answered before its end, it is closed as soon as the answer is on its way.
      if (socket.destroyed || !current || current.res.writableEnded) return;
      this.#give(connection, Math.min(SLICE, rest.length));
      this.#parse(connection);
      if (rest.length === 0) this.#readOn(connection);
    });
  }

  /** How many of the received bytes are for the parser while it expects headers: all bytes to their end, or none. */
  #headersIn(connection: Connection): number {
    const { rest, socket, isBegun, searched } = connection;
    if (!isBegun) rest.skip(CR, LF); // may stand before a request
    const { bytes } = rest;
    const end = endOfHeaders(bytes, searched);
    const length = end < 0 ? bytes.length : end;
    if (length > this.#options.mostHeaders) {
      rest.clear();
      socket.end(HEADERS_TOO_LARGE, () => socket.destroy());
      return 0;
    }
    connection.isBegun = end < 0;
    connection.searched = end < 0 ? Math.max(0, length - END_OF_HEADERS.length) : 0;
    if (end >= 0) return length;
    // One byte of them, as from then on node:http counts their time.
    return isBegun ? 0 : Math.min(1, length);
  }

  #start(connection: Connection, exchange: Exchange): void {
    const { req, res } = exchange;
    connection.current = exchange;
    connection.bodyLeft = isChunked(req) ? 0 : Number(req.headers['content-length'] ?? 0);
    connection.isKept = res.shouldKeepAlive;
    // An answer before the end of the body closes the connection and has to say so, as the next request on it would be lost.
    if (!req.complete && (isChunked(req) || connection.bodyLeft > connection.rest.length))
      res.shouldKeepAlive = false;
    res.once('close', () => this.#ended(connection, exchange));
    if (!connection.takesTurns || isTrusted(connection)) {
      this.#begin(connection, exchange);
      return;
    }
    this.#inTurn.push(connection);
    if (this.#inTurn.length === 1 && this.#begunThisTurn < BEGUN_A_TURN) this.#beginNext();
    this.#awaitTurn();
  }

  #beginNext(): void {
    const connection = this.#inTurn.shift();
    if (!connection?.current || connection.current.res.destroyed) return;
    this.#begunThisTurn++;
    this.#begin(connection, connection.current);
  }

  #begin(connection: Connection, { req, res, answer }: Exchange): void {
    answer(req, res);
    if (!isChunked(req)) return;
    connection.bodyLeft = Number.POSITIVE_INFINITY;
    this.#parse(connection);
  }

  /** Goes on to the bytes behind a request that is answered. */
  #ended(connection: Connection, { req, res }: Exchange): void {
    const { socket, behind } = connection;
    connection.current = undefined;
    if (socket.destroyed) return;
    // The rest of a refused body would be read for nothing, and the headers held until it has come.
    if (!req.complete) {
      socket.destroy();
      return;
    }
    const isAcknowledged = req.method === 'POST' && res.statusCode === 200;
    if (isAcknowledged) connection.acknowledgedAt = systemClock.monotonic();
    connection.takesTurns = !isAcknowledged && res.statusCode < 500;
    connection.since = systemClock.monotonic();
    // The rest: bytes that are not parsed yet, and the objects of requests that are.
    this.#hold(connection, connection.rest.length + behind.length * REQUEST_COST - connection.held);
    const next = behind.shift();
    if (next) this.#start(connection, next);
    this.#parse(connection);
    this.#readOn(connection);
    this.#openIfRelieved();
    // Nothing more comes then, and what this connection still holds may be owed no answer any more.
    if (this.#isFull) this.#awaitTurn();
  }

  #openIfRelieved(): void {
    if (!this.#isFull || this.#held > RELIEVED * this.#most) return;
    this.#isFull = false;
    this.#lookAt = this.#most;
    this.#awaitTurn();
  }

  get #isReadingStopped(): boolean {
    return this.#isFull || this.#cameThisTurn > MOST_A_TURN;
  }

  /** Stops reading, so that bytes wait in the clients. A body that the app reads just now goes on for a packet or two. */
  #stopReading(): void {
    for (const connection of this.#connections.values()) {
      if (this.#isFull || !isTrusted(connection)) this.#stop(connection);
    }
  }

  #stop(connection: Connection): void {
    this.#stopped.add(connection);
    halt(connection);
  }

  #readOn(connection: Connection): void {
    const { current, rest } = connection;
    if (this.#stopped.has(connection)) return;
    const isAppBehind =
      current !== undefined && current.req.readableLength >= current.req.readableHighWaterMark;
    if (!isAppBehind && !(current?.req.complete && rest.length > 0)) goOn(connection);
  }

  /** Not all at once: each takes calls of the kernel, and few of them can be read before all are stopped again. */
  #readOnStopped(): void {
    if (this.#isReadingStopped) return;
    let count = 0;
    for (const connection of this.#stopped) {
      if (++count > READ_ON_A_TURN) {
        this.#awaitTurn();
        return;
      }
      this.#stopped.delete(connection);
      this.#readOn(connection);
    }
  }

  /** At the end of this turn of the event loop, reading goes on, and some of the connections that take turns have theirs. */
  #awaitTurn(): void {
    if (this.#isTurnAwaited) return;
    this.#isTurnAwaited = true;
    setImmediate(() => {
      this.#isTurnAwaited = false;
      this.#cameThisTurn = 0;
      this.#begunThisTurn = 0;
      while (this.#begunThisTurn < BEGUN_A_TURN && this.#inTurn.length > 0) this.#beginNext();
      if (this.#inTurn.length > 0) this.#awaitTurn();
      if (this.#isFull && systemClock.monotonic() > this.#relievedAt + RELIEVED_EVERY_MS) this.#relieve();
      this.#readOnStopped();
    });
  }

  #hold(connection: Connection, bytes: number): void {
    connection.held += bytes;
    this.#held += bytes;
    if (this.#isPressed ? this.#held < LITTLE : this.#held > MUCH) {
      this.#isPressed = !this.#isPressed;
      this.#options.onPressure(this.#isPressed);
    }
  }

  #relieve(): void {
    const { mostUnfinished } = this.#options;
    const now = systemClock.monotonic();
    this.#relievedAt = now;
    const unfinished = [...this.#connections.values()].filter((one) => one.held > 0 && !waitsForUs(one));
    let sum = unfinished.reduce((total, { held }) => total + held, 0);
    if (sum > mostUnfinished) {
      const weight = ({ held, since }: Connection) => held * (now - since);
      for (const one of unfinished.toSorted((left, right) => weight(right) - weight(left))) {
        if (sum <= RELIEVED * mostUnfinished) break;
        sum -= one.held;
        this.#close(one);
      }
    }
    this.#isFull ||= this.#held > this.#most;
    this.#lookAt = this.#isFull ? this.#held + STEP : this.#most;
  }

  #closeIdlest(): void {
    let idlest: Connection | undefined;
    for (const one of this.#connections.values()) {
      if (!waitsForUs(one) && (!idlest || lastOfUse(one) < lastOfUse(idlest))) idlest = one;
    }
    if (idlest) this.#close(idlest);
  }

  #close(connection: Connection): void {
    this.#remove(connection);
    connection.socket.destroy();
  }

  #remove(connection: Connection): void {
    this.#connections.delete(connection.socket);
    this.#stopped.delete(connection);
    connection.rest.clear();
    this.#hold(connection, -connection.held);
    this.#openIfRelieved();
  }
}

/** What is beneath a socket of Node's. */
interface Handle {
  /** whether the socket believes that it is read */
  readonly reading: boolean;
  readStop(): number;
  readStart(): number;
}

function handleOf(socket: Socket): Handle | undefined {
  const handle = (socket as { readonly _handle?: Partial<Handle> | null })._handle;
  return typeof handle?.readStop === 'function' && typeof handle.readStart === 'function'
    ? (handle as Handle)
    : undefined;
}

/**
 * Stops reading a connection at once. A socket that is paused still takes 64 KiB from the kernel, and keeps them: 128 MB of
 * 2,000 connections, which nothing counted. There is no public call for more than that; without the one beneath, it is only paused.
 */
function halt(connection: Connection): void {
  const { socket } = connection;
  socket.pause();
  const handle = handleOf(socket);
  // Where the socket has stopped by itself, it also starts again by itself.
  if (!handle?.reading || connection.isHalted) return;
  handle.readStop();
  connection.isHalted = true;
}

function goOn(connection: Connection): void {
  const { socket, isHalted } = connection;
  connection.isHalted = false;
  if (isHalted && !socket.destroyed) handleOf(socket)?.readStart();
  socket.resume();
}

/** Where headers end; or where lines do not end as they must, for the parser to refuse them at once. */
function endOfHeaders(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(END_OF_HEADERS, from, 'latin1');
  if (end >= 0) return end + END_OF_HEADERS.length;
  const wrong = bytes.indexOf('\n\n', from, 'latin1');
  return wrong < 0 ? -1 : wrong + 2;
}

function isChunked(req: IncomingMessage): boolean {
  return req.headers['transfer-encoding'] !== undefined;
}

function isTrusted({ acknowledgedAt }: Connection): boolean {
  return systemClock.monotonic() - acknowledgedAt < TRUSTED_MS;
}

/**
 * Whether the next step is ours: an answer is due. A client whose last answer needed no secret, and that goes on sending, is owed none:
 * with what anybody may ask for, as whether the process lives, it would hold others up as with forgeries.
 */
function waitsForUs(connection: Connection): boolean {
  const { current, takesTurns } = connection;
  if (!current?.req.complete || current.res.writableEnded) return false;
  return !takesTurns || isTrusted(connection);
}

/** An acknowledgement counts as much as ten seconds more of silence. */
function lastOfUse({ acknowledgedAt, since }: Connection): number {
  return Math.max(since, acknowledgedAt + TRUSTED_MS);
}
