import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express';
import type { Logger } from 'pino';
import type { MonotonicClock } from '../base/clock.ts';
import { sourceOf } from '../base/request-source.ts';
import { cut } from '../base/text.ts';
import type { Config } from '../config.ts';
import type { Answered, Observer } from '../observer.ts';
import type { EventStore, VerifiedNotification } from '../store/event-store.ts';
import { type Acks, acksOf } from './acks.ts';
import { answer, answerError } from './answer.ts';
import type { Keyring } from './keyring.ts';
import type { Quarantine } from './quarantine.ts';
import { counterBy, type RequestLog, requestLogOf } from './request-log.ts';
import {
  BUSY,
  isUnexplained,
  NOTHING_HERE,
  type Refused,
  SHUTTING_DOWN,
  THROTTLED,
  verdictAfter,
  verdictOnBody,
  verdictOnHead,
} from './verdict.ts';

/** The public app: the webhook route, `/healthz`, `/readyz`, and nothing else. */
export function createReceiver(config: Config, parts: ReceiverParts): express.Express {
  const { store, clock, log, phase } = parts;
  const acks = acksOf(store.queue, clock);
  const requestLog = requestLogOf(log, clock);
  const refuse = (req: Request, res: Response, verdict: Refused, cause?: unknown): void => {
    answerError(res, verdict);
    requestLog.failed(req, res, verdict, cause);
  };
  const app = express().disable('x-powered-by');
  app.set('trust proxy', config.TRUST_PROXY); // so many entries of X-Forwarded-For are believed
  app.set('query parser', false);
  app.all(config.WEBHOOK_PATH, ...webhookRoute(config, { ...parts, acks, requestLog }));

  app.use((req, res, next) => {
    closeBehind(req, res, config);
    next();
  });
  app.get('/healthz', (_req, res) => answer(res, 200, { status: 'ok' }));
  app.get('/readyz', async (req, res) => {
    const isDraining = phase() !== 'open';
    if (!isDraining && (await acks.areReady())) return answer(res, 200, { status: 'ready' });
    refuse(req, res, isDraining ? SHUTTING_DOWN : BUSY);
  });

  app.use((_req, res) => answerError(res, NOTHING_HERE));
  const failed: ErrorRequestHandler = (cause, req, res, next) => {
    if (res.headersSent) next(cause);
    else refuse(req, res, verdictAfter(cause), cause);
  };
  return app.use(failed);
}

/** Has the answer close the connection, where a body is too long or of unknown length: nobody reads the rest of it. */
function closeBehind({ headers }: Request, res: Response, { BODY_LIMIT }: Pick<Config, 'BODY_LIMIT'>): void {
  const isLarge = Number(headers['content-length']) > BODY_LIMIT;
  if (isLarge || headers['transfer-encoding'] !== undefined) res.setHeader('Connection', 'close');
}

/** `draining`: it serves on, and tells a balancer to send nothing more. `closed`: it takes no further notification. */
export type Phase = 'open' | 'draining' | 'closed';

export interface ReceiverParts {
  readonly store: Pick<EventStore, 'queue'>;
  readonly keyring: Pick<Keyring, 'keysFor' | 'refresh'>;
  readonly quarantine: Pick<Quarantine, 'add'>;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly observer?: Observer | undefined;
  phase(): Phase;
}

/** What the receiver knows of a request when its head has come. */
interface Exchange {
  readonly began: number;
  /** the address of its sender; Express has none once the connection is closed */
  readonly address: string;
  /** empty if the head was refused */
  readonly token: string;
}

const MINUTE_MS = 60_000;
/** Room for an IPv6 address with its zone. */
const LONGEST_ADDRESS = 64;
const NO_BYTES = Buffer.alloc(0);

/** The handlers of the webhook path, which answer each request with its verdict and act on it. */
function webhookRoute(
  config: Config,
  parts: ReceiverParts & { readonly acks: Acks; readonly requestLog: RequestLog },
): readonly (RequestHandler | ErrorRequestHandler)[] {
  const { keyring, quarantine, clock, log, observer, acks, requestLog, phase } = parts;
  const { BODY_LIMIT: bodyLimit, MAX_WAITING_ACKS: mostWaiting, REJECT_LIMIT: rejectLimit } = config;
  const failures = counterBy(clock, MINUTE_MS);

  const checkHead: RequestHandler = (req, res, next) => {
    const isOverloaded = acks.waiting >= mostWaiting;
    const verdict = verdictOnHead(req, { bodyLimit, isClosed: phase() === 'closed', isOverloaded });
    const address = cut(req.ip ?? '', LONGEST_ADDRESS);
    const token = typeof verdict === 'string' ? verdict : '';
    res.locals.exchange = { began: clock.monotonic(), address, token } satisfies Exchange;
    if (typeof verdict === 'string') return next();
    closeBehind(req, res, config);
    refuse(req, res, verdict);
  };

  const receive: RequestHandler = async (req, res) => {
    const verdict = await judge(exchangeOf(res).token, Buffer.isBuffer(req.body) ? req.body : NO_BYTES);
    if ('error' in verdict) return refuse(req, res, verdict);
    const recorded = await acks.record(verdict);
    answer(res, 200, recorded);
    const { kind, webhookId } = verdict;
    log.debug({ ...recorded, kind, webhookId }, 'notification recorded');
    observe(res, { source: '', recorded, error: undefined, refusal: undefined, kind, webhookId });
  };

  const judge = async (token: string, bytes: Buffer): Promise<VerifiedNotification | Refused> => {
    const keysFor = (webhookId: string) => keyring.keysFor(webhookId);
    const verdict = verdictOnBody(token, bytes, keysFor);
    if (!isUnexplained(verdict)) return verdict;
    const { webhookId } = verdict.unverified;
    const tried = keysFor(webhookId);
    await keyring.refresh(); // another process may have stored the secret a moment ago
    const hasMore = keysFor(webhookId).some((key) => !tried.includes(key));
    return hasMore ? verdictOnBody(token, bytes, keysFor) : verdict;
  };

  const refuse = (req: Request, res: Response, verdict: Refused, cause?: unknown): void => {
    const { address } = exchangeOf(res);
    const source = sourceOf(address);
    const { unverified } = verdict;
    const isFailure = verdict.status < 500 && verdict.status !== 405;
    const isThrottled = isFailure && failures(source) > rejectLimit && unverified !== undefined;
    const told = isThrottled ? THROTTLED : verdict;
    const { status, error } = told;
    answerError(res, told);
    const { refusal, kind = '', webhookId = '' } = unverified ?? {};
    observe(res, { source: address, recorded: undefined, error, refusal, kind, webhookId });
    if (status >= 500) requestLog.failed(req, res, told, cause);
    else requestLog.refused(res, source, { status, error, ...refusal, webhookId, kind });
    if (isUnexplained(verdict)) quarantine.add(verdict.unverified, address);
  };

  const failed: ErrorRequestHandler = (error, req, res, next) => {
    if (res.headersSent) return next(error);
    closeBehind(req, res, config);
    refuse(req, res, verdictAfter(error), error);
  };

  /** Tells the observer about a request that was just answered. */
  const observe = (res: Response, told: Omit<Answered, 'status' | 'ms'>): void => {
    observer?.answered({ ...told, status: res.statusCode, ms: clock.monotonic() - exchangeOf(res).began });
  };

  const readBody = express.raw({ type: () => true, limit: bodyLimit, inflate: false });
  return [checkHead, readBody, receive, failed];
}

function exchangeOf(res: Response): Exchange {
  return res.locals.exchange;
}
