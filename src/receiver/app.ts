import type { RequestListener } from 'node:http';
import express, { type ErrorRequestHandler, type Request, type RequestHandler } from 'express';
import { cutOut } from '../base/cut.ts';
import { Probe } from '../store/commit-probe.ts';
import type { EventStore } from '../store/event-store.ts';
import { answer, answerError, type ErrorAnswer } from './answer.ts';
import { BoundedLog } from './bounded-log.ts';
import { logFailure, requestLog } from './request-log.ts';
import { unavailable, verdictAfter } from './verdict.ts';
import { type WebhookRouteOptions, webhookRoute } from './webhook-route.ts';

export interface ReceiverOptions extends Omit<WebhookRouteOptions, 'probe' | 'lines'> {
  readonly store: Pick<EventStore, 'record' | 'quarantine' | 'ping'>;
  readonly webhookPath: string;
  /** how many proxies' X-Forwarded-For entries are believed */
  readonly trustProxy: number;
  /** log lines a second about requests that were not served; 10 without it */
  readonly linesASecond?: number | undefined;
}

/** The public app: the webhook route, `/healthz`, `/readyz`, and nothing else. */
export function createReceiver(options: ReceiverOptions): RequestListener {
  const app = express();
  app.set('trust proxy', options.trustProxy);
  app.set('etag', false);
  app.set('query parser', false);
  app.disable('x-powered-by');
  Object.defineProperty(app.request, 'ip', {
    get(this: Request) {
      return addressOf(this, options.trustProxy);
    },
  });
  const probe = new Probe(options.clock);
  const { log, clock, linesASecond: mostASecond } = options;
  const lines = new BoundedLog({ log, clock, mostASecond });
  app.use(requestLog(app, options));
  app.all(options.webhookPath, webhookRoute({ ...options, probe, lines }));
  app.all('/healthz', readOnly, (_req, res) => answer(res, 200, { status: 'ok' }));
  app.all('/readyz', readOnly, readiness(options, { probe, lines }));
  app.use((_req, res) => answerError(res, NOTHING_HERE));
  app.use(lastResort(lines));
  return (req, res) => {
    req.url = shortened(req.url ?? '');
    app(req, res);
  };
}

/** No path that there is comes near to this, with a host before it. */
const LONGEST_URL = 2048;

/** Express goes through every character of a URL for each of its handlers. Nothing here goes by a query. */
function shortened(url: string): string {
  const query = url.indexOf('?');
  return url.slice(0, Math.min(LONGEST_URL, query < 0 ? url.length : query));
}

/** Room for an IPv6 address with its zone. */
const LONGEST_ADDRESS = 64;

/**
 * Where a request comes from, as Express works it out: behind so many proxies, the entry of X-Forwarded-For that the first
 * of them wrote. Express makes a list of all entries, which may be as many as a header has characters, and gives a part of
 * the header, which keeps all of it in memory for as long as the address is known.
 */
function addressOf(req: Request, proxies: number): string {
  const header = proxies > 0 ? (req.get('x-forwarded-for') ?? '') : '';
  let address = req.socket.remoteAddress ?? '';
  let end = header.length;
  for (let proxy = 0; proxy < proxies; proxy++) {
    while (end > 0 && isBetween(header.charCodeAt(end - 1))) end--;
    if (end === 0) break;
    const comma = header.lastIndexOf(',', end - 1);
    address = cutOut(header.slice(comma + 1, end).trim(), LONGEST_ADDRESS);
    end = comma + 1;
  }
  return address;
}

/** A comma or a space, of which there may be many. */
const isBetween = (code: number) => code === 0x2c || code === 0x20;

const NOTHING_HERE = { status: 404, error: 'there is nothing here' };
const READ_ONLY = { status: 405, error: 'only GET is allowed here', headers: { Allow: 'GET, HEAD' } };

const readOnly: RequestHandler = (req, res, next) => {
  if (req.method === 'GET' || req.method === 'HEAD') return next();
  answerError(res, READ_ONLY);
};

function readiness(
  { isDraining, store }: ReceiverOptions,
  { probe, lines }: { readonly probe: Probe; readonly lines: BoundedLog },
): RequestHandler {
  return async (req, res) => {
    const isReady = !isDraining() && (await probe.commits(store));
    if (isReady) return answer(res, 200, { status: 'ready' });
    const refused = unavailable(isDraining() ? 'shutting down' : 'the store is busy');
    answerError(res, refused);
    logFailure(lines, req, refused);
  };
}

const lastResort =
  (lines: BoundedLog): ErrorRequestHandler =>
  (cause, req, res, _next) => {
    if (res.headersSent) return void res.destroy();
    const refused: ErrorAnswer = verdictAfter(cause);
    answerError(res, refused);
    logFailure(lines, req, { ...refused, cause });
  };
