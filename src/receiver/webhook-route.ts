import express, { type Request, type RequestHandler, type Response } from 'express';
import { rateLimit } from 'express-rate-limit';
import { type JsonObject, parseJsonObject } from '../notification/json.ts';
import { type Refusal, verifyNotification } from '../notification/token.ts';
import type { EventStore, Recorded } from '../store/event-store.ts';
import { answerError, answerUnavailable } from './answer.ts';
import type { Keyring } from './keyring.ts';
import { deservesQuarantine } from './quarantine.ts';
import { label, toVerified } from './verified.ts';

export interface WebhookRouteOptions {
  readonly store: Pick<EventStore, 'record' | 'quarantine'>;
  readonly keyring: Pick<Keyring, 'keysFor' | 'refresh'>;
  /** largest body, in bytes */
  readonly bodyLimit: number;
  /** failed verifications a minute and source, beyond which 429 takes the place of 401 */
  readonly rejectLimit: number;
  readonly quarantineMax: number;
  /** requests that may wait for their commit at once */
  readonly maxWaitingAcks: number;
  /** whether the service is shutting down */
  readonly isDraining: () => boolean;
  /** called when a new event is on disk */
  readonly onAccepted: () => void;
}

const MINUTE_MS = 60_000;

/** The handlers of the webhook route, in the order of the table of answers. */
export function webhookRoute(options: WebhookRouteOptions): RequestHandler[] {
  const { store, keyring, rejectLimit, quarantineMax, onAccepted } = options;
  let waitingAcks = 0;

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
    const refusal = await verify(token, value);
    if (refusal) {
      req.log.warn({ ...refusal, webhookId: label(value.webhook_id) }, 'notification refused');
      res.locals.refused = { token, value, text, refusal } satisfies Refused;
      return next();
    }
    // Asked again: many may have come while none was waiting yet.
    if (waitingAcks >= options.maxWaitingAcks) return answerUnavailable(res, 'overloaded');
    waitingAcks++;
    const recorded = await store.record(toVerified(value, text)).finally(() => waitingAcks--);
    if (recorded.status === 'accepted') onAccepted();
    req.log.debug(recorded, 'notification recorded');
    res.json(recorded satisfies Recorded);
  };

  const verify = async (token: string, body: JsonObject): Promise<Refusal | undefined> => {
    const webhookId = label(body.webhook_id);
    const refusal = verifyNotification(token, body, keyring.keysFor(webhookId));
    if (refusal?.reason !== 'bad signature' && refusal?.reason !== 'no secret') return refusal;
    // The secret may have been stored a moment ago by another process.
    await keyring.refresh();
    return verifyNotification(token, body, keyring.keysFor(webhookId));
  };

  // Stands behind verification, so that it counts and throttles only what failed.
  const limitRejections = rateLimit({
    windowMs: MINUTE_MS,
    limit: rejectLimit,
    standardHeaders: false,
    legacyHeaders: false,
    // Anybody may send this header; it counts only where TRUST_PROXY says so.
    validate: false,
    handler: (_req, res) => {
      res.set('Retry-After', String(MINUTE_MS / 1000));
      answerError(res, 429, 'too many notifications that cannot be verified');
    },
  });

  const reject = async (req: Request, res: Response): Promise<void> => {
    const { token, value, text, refusal } = res.locals.refused as Refused;
    const unexplained = refusal.reason === 'bad signature' || refusal.reason === 'no secret';
    if (unexplained && deservesQuarantine(token, value)) {
      await store.quarantine({ ...toVerified(value, text), token, source: req.ip ?? '' }, quarantineMax);
    }
    challenge(res, 'the notification could not be verified');
  };

  return [requirePost, refuseIfBusy, readBody, receive, limitRejections, reject];
}

interface Refused {
  readonly token: string;
  readonly value: JsonObject;
  readonly text: string;
  readonly refusal: Refusal;
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
