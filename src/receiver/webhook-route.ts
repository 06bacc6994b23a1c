import express, { type Request, type RequestHandler, type Response } from 'express';
import { type RateLimitInfo, rateLimit } from 'express-rate-limit';
import type { Logger } from 'pino';
import { type JsonObject, parseJsonObject } from '../notification/json.ts';
import { type Refusal, verifyNotification } from '../notification/token.ts';
import type { Observer } from '../observer.ts';
import type { EventStore, Recorded } from '../store/event-store.ts';
import { answer, answerError, answerTooLarge, answerUnavailable } from './answer.ts';
import { Failures } from './failures.ts';
import type { Keyring } from './keyring.ts';
import { observed } from './observed.ts';
import { deservesQuarantine } from './quarantine.ts';
import { label, toVerified } from './verified.ts';

export interface WebhookRouteOptions {
  readonly store: Pick<EventStore, 'record' | 'quarantine'>;
  readonly keyring: Pick<Keyring, 'keysFor' | 'refresh'>;
  /** largest body, in bytes */
  readonly bodyLimit: number;
  /** failed verifications a minute and source, beyond which 429 takes the place of 401 */
  readonly rejectLimit: number;
  readonly quarantineMaxBytes: number;
  /** called with how many notifications the quarantine had no room for */
  readonly onQuarantineLost?: ((lost: number) => void) | undefined;
  /** requests that may wait for their commit at once */
  readonly maxWaitingAcks: number;
  /** whether the service is shutting down */
  readonly isDraining: () => boolean;
  /** called when a new event is on disk */
  readonly onAccepted: () => void;
  readonly log: Logger;
  readonly observer?: Observer | undefined;
}

const MINUTE_MS = 60_000;
/** Requests at once for which the store is asked whether their secret is there by now; each holds some 30 KB. */
const MAX_LOOKUPS = 500;

/** The handlers of the webhook route, in the order of the table of answers. */
export function webhookRoute(options: WebhookRouteOptions): RequestHandler[] {
  const { store, keyring, rejectLimit, quarantineMaxBytes, onAccepted } = options;
  let waitingAcks = 0;
  let lookups = 0;

  const requirePost: RequestHandler = (req, res, next) => {
    if (req.method === 'POST') return next();
    res.set('Allow', 'POST');
    answerError(res, 405, 'only POST is allowed here');
  };

  const refuseIfBusy: RequestHandler = (_req, res, next) => {
    if (options.isDraining()) return answerUnavailable(res.set('Connection', 'close'), 'shutting down');
    if (waitingAcks >= options.maxWaitingAcks) return answerUnavailable(res, 'overloaded');
    next();
  };

  // Every content type: the provider's is not documented.
  const rawBody = express.raw({ type: () => true, limit: options.bodyLimit });

  /** A body that cannot be read is refused like one that is no JSON: after Authorization, whose turn comes first. */
  const readBody: RequestHandler = (req, res, next) => {
    // Said at once: what reads the body would first take in all of it, however long that is.
    if (Number(req.headers['content-length']) > options.bodyLimit) return answerTooLarge(res);
    rawBody(req, res, (error?: unknown) => {
      const status = (error as { status?: number } | undefined)?.status;
      if (error === undefined || status === 413 || status === undefined || status >= 500) return next(error);
      res.locals.unreadable = true;
      next();
    });
  };

  const receive = async (req: Request, res: Response, next: () => void): Promise<void> => {
    const token = bearerOf(req);
    if (token === undefined)
      return challenge(res, 'an Authorization header of the form "Bearer TOKEN" is needed');
    if (res.locals.unreadable) return answerError(res, 400, 'the body cannot be read');
    const parsed = parse(req.body);
    if ('problem' in parsed) return answerError(res, 400, `the body is ${parsed.problem}`);
    const { text, value } = parsed;
    res.locals.body = value;
    const refusal = await verify(token, value, text);
    if (refusal) {
      res.locals.refused = { token, value, text, refusal } satisfies Refused;
      return next();
    }
    // Asked again: many may have come while none was waiting yet.
    if (waitingAcks >= options.maxWaitingAcks) return answerUnavailable(res, 'overloaded');
    waitingAcks++;
    const recorded = await store.record(toVerified(value, text)).finally(() => waitingAcks--);
    res.locals.recorded = recorded;
    if (recorded.status === 'accepted') onAccepted();
    if (options.log.isLevelEnabled('debug')) req.log.debug(recorded, 'notification recorded');
    answer(res, 200, recorded satisfies Recorded);
  };

  const verify = async (token: string, body: JsonObject, text: string): Promise<Refusal | undefined> => {
    const webhookId = label(body.webhook_id);
    const keys = keyring.keysFor(webhookId);
    const refusal = verifyNotification(token, body, keys, text);
    if (refusal?.reason !== 'bad signature' && refusal?.reason !== 'no secret') return refusal;
    // A flood of forgeries is not to pile up here: what is beyond goes by the secrets known now, at most a second old.
    if (lookups >= MAX_LOOKUPS) return refusal;
    lookups++;
    // The secret may have been stored a moment ago by another process.
    await keyring.refresh().finally(() => lookups--);
    const now = keyring.keysFor(webhookId);
    const isAsBefore = now.length === keys.length && now.every((key, index) => key === keys[index]);
    return isAsBefore ? refusal : verifyNotification(token, body, now, text);
  };

  // Stands behind verification, so that it counts and throttles only what failed.
  const limitRejections = rateLimit({
    windowMs: MINUTE_MS,
    limit: rejectLimit,
    store: new Failures(MINUTE_MS),
    standardHeaders: false,
    legacyHeaders: false,
    // Anybody may send this header; it counts only where TRUST_PROXY says so.
    validate: false,
    handler: (req, res) => {
      // Once a source and minute: a flood is not to fill the disk with lines about itself.
      if (hitsOf(req) === rejectLimit + 1) req.log.warn({ source: req.ip }, 'source throttled');
      res.set('Retry-After', String(MINUTE_MS / 1000));
      answerError(res, 429, 'too many notifications that cannot be verified');
    },
  });

  const reject = async (req: Request, res: Response): Promise<void> => {
    const { token, value, text, refusal } = res.locals.refused as Refused;
    req.log.warn({ ...refusal, webhookId: label(value.webhook_id) }, 'notification refused');
    const unexplained = refusal.reason === 'bad signature' || refusal.reason === 'no secret';
    if (unexplained && deservesQuarantine(token, value)) {
      const entry = { ...toVerified(value, text), token, source: req.ip ?? '' };
      const { lost } = await store.quarantine(entry, quarantineMaxBytes);
      if (lost > 0) options.onQuarantineLost?.(lost);
    }
    challenge(res, 'the notification could not be verified');
  };

  return [observed(options.observer), requirePost, refuseIfBusy, readBody, receive, limitRejections, reject];
}

interface Refused {
  readonly token: string;
  readonly value: JsonObject;
  readonly text: string;
  readonly refusal: Refusal;
}

/** How often the source of a request has failed, as the limiter counted. */
function hitsOf(req: Request): number | undefined {
  return (req as Request & { rateLimit?: RateLimitInfo }).rateLimit?.used;
}

function bearerOf(req: Request): string | undefined {
  const values = req.headersDistinct.authorization ?? [];
  // Two of them and another reader may go by the other one.
  return values.length === 1 ? /^Bearer +(\S+)$/i.exec(values[0] ?? '')?.[1] : undefined;
}

function parse(body: unknown): { text: string; value: JsonObject } | { problem: string } {
  try {
    return parseJsonObject(Buffer.isBuffer(body) ? body : Buffer.alloc(0));
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: error.message };
    throw error;
  }
}

function challenge(res: Response, message: string): void {
  res.set('WWW-Authenticate', 'Bearer');
  answerError(res, 401, message);
}
