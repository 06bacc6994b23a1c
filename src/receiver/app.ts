import express, { type ErrorRequestHandler, type RequestHandler, type Response } from 'express';
import { messageOf } from '../base/errors.ts';
import { boundedLog, counterBy } from '../base/log.ts';
import { sourceOf } from '../base/request-source.ts';
import type { Answered, Parts } from '../observer.ts';
import { label, lineOf } from '../store/stored.ts';
import { acksOf, type RecordOne } from './acks.ts';
import { answer, requestIdOf } from './answer.ts';
import type { Keyring } from './keyring.ts';
import type { Quarantine } from './quarantine.ts';
import {
  BUSY,
  NOTHING_HERE,
  OVERLOADED,
  type Refused,
  SHUTTING_DOWN,
  THROTTLED,
  verdictAfter,
  verdictOnBody,
  verdictOnHead,
} from './verdict.ts';

/** `draining`: it serves on, and tells a balancer to send nothing more. `closed`: it takes no further notification. */
export type Phase = 'open' | 'draining' | 'closed';

export interface ReceiverParts extends Parts {
  readonly keyring: Keyring;
  readonly quarantine: Pick<Quarantine, 'add'>;
  phase(): Phase;
  /** records in another way, as where it is traced */
  readonly around?: ((record: RecordOne) => RecordOne) | undefined;
}

/** A request on the webhook path, as far as its head tells. */
interface Exchange {
  readonly began: number;
  /** the address of its sender; Express has none once the connection is closed */
  readonly address: string;
  /** empty if the head was refused */
  readonly token: string;
}

/** The public app: the webhook route, `/healthz`, `/readyz`, and nothing else. */
export function createReceiver(parts: ReceiverParts): express.Express {
  const { config, store, keyring, clock, log, phase, around } = parts;
  const acks = acksOf(store.queue, clock);
  const record = around?.(acks.record) ?? acks.record;
  const refuse = refusals(parts);

  const checkHead: RequestHandler = (req, res, next) => {
    const isOverloaded = acks.waiting() >= config.MAX_WAITING_ACKS;
    const unavailable = isOverloaded ? OVERLOADED : undefined;
    const verdict = verdictOnHead(req, config.BODY_LIMIT, phase() === 'closed' ? SHUTTING_DOWN : unavailable);
    const address = label(req.ip);
    const token = typeof verdict === 'string' ? verdict : '';
    res.locals.exchange = { began: clock.monotonic(), address, token } satisfies Exchange;
    if (typeof verdict === 'string') next();
    else refuse(res, verdict);
  };

  const readBody = express.raw({ type: () => true, limit: config.BODY_LIMIT, inflate: false });

  const receive: RequestHandler = async (req, res) => {
    const { token }: Exchange = res.locals.exchange;
    const verdict = await judge(token, req.body ?? Buffer.alloc(0), keyring);
    if ('error' in verdict) return refuse(res, verdict);
    const notification = { ...verdict, request: requestIdOf(res) };
    const recorded = await record(notification, req.get('traceparent'));
    answer(res, 200, recorded);
    log.debug({ ...lineOf(notification), status: recorded.status }, 'notification recorded');
    observe(res, parts, { source: '', recorded, kind: verdict.kind, webhookId: verdict.webhookId });
  };

  const sayReady: RequestHandler = async (_req, res) => {
    const isDraining = phase() !== 'open';
    if (!isDraining && (await acks.areReady())) return answer(res, 200, { status: 'ready' });
    refuse(res, isDraining ? SHUTTING_DOWN : BUSY);
  };

  // Express knows an error handler by its four parameters.
  const failed: ErrorRequestHandler = (cause, _req, res, _next) => refuse(res, verdictAfter(cause), cause);

  const app = express().disable('x-powered-by');
  app.set('trust proxy', config.TRUST_PROXY); // so many entries of X-Forwarded-For are believed
  app.set('query parser', false);
  app.all(config.WEBHOOK_PATH, checkHead, readBody, receive);
  app.get('/healthz', (_req, res) => answer(res, 200, { status: 'ok' }));
  app.get('/readyz', sayReady);
  app.use((_req, res) => refuse(res, NOTHING_HERE));
  return app.use(failed);
}

/** The verdict on a body, after a second look at the secrets where they do not explain its signature. */
async function judge(token: string, bytes: Buffer, keyring: Keyring) {
  const verdict = verdictOnBody(token, bytes, keyring);
  if (!('error' in verdict) || !verdict.unverified?.isUnexplained) return verdict;
  await keyring.refresh(); // another process may have stored the secret a moment ago
  return verdictOnBody(token, bytes, keyring);
}

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;

/** Gives a function that answers a refusal and logs it. On the webhook path it tells the observer and the quarantine, too. */
function refusals(parts: ReceiverParts) {
  const { config, quarantine, clock, log } = parts;
  // No header is ever logged, Authorization least of all, and no query string.
  const write = boundedLog(log, clock, SECOND_MS);
  const failures = counterBy(clock, MINUTE_MS);

  return (res: Response, verdict: Refused, cause?: unknown): void => {
    const exchange: Exchange | undefined = res.locals.exchange;
    const { unverified } = verdict;
    const source = sourceOf(exchange?.address);
    const isFailure = exchange !== undefined && verdict.status < 500 && verdict.status !== 405;
    const isThrottled = isFailure && failures(source) > config.REJECT_LIMIT && unverified !== undefined;
    const { status, error, headers: own } = isThrottled ? THROTTLED : verdict;
    const { headers, complete } = res.req;
    const isLong =
      Number(headers['content-length']) > config.BODY_LIMIT || headers['transfer-encoding'] !== undefined;
    if (isLong && !complete) res.setHeader('Connection', 'close'); // nobody reads the rest of it
    answer(res, status, { error }, own); // never more than a sender may know
    const { refusal, body } = unverified ?? {};
    const [kind, webhook] = [label(body?.value.event), label(body?.value.webhook_id)];
    const request = requestIdOf(res);
    if (status >= 500) {
      const why = cause === undefined ? error : messageOf(cause);
      const message = cause === undefined ? 'request not served' : 'request failed';
      write('error', why, { request, status, path: label(res.req.path), error: why }, message);
    }
    if (!exchange) return;
    const fields = { request, source, status, error, ...refusal, kind, webhook };
    if (status < 500) write('warn', source, fields, 'notification refused');
    const { address, token } = exchange;
    observe(res, parts, { source: address, error, refusal, kind, webhookId: webhook });
    if (unverified?.isUnexplained) quarantine.add({ token, body: unverified.body }, address);
  };
}

/** Tells the observer about a request that was just answered. */
function observe(res: Response, { observer, clock }: ReceiverParts, told: Omit<Answered, 'status' | 'ms'>) {
  const { began }: Exchange = res.locals.exchange;
  observer?.answered({ ...told, status: res.statusCode, ms: clock.monotonic() - began });
}
