import type { KeyObject } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { ipKeyGenerator, type RateLimitInfo, rateLimit } from 'express-rate-limit';
import type { Logger } from 'pino';
import { decode, type JsonObject, type Outline, outlineOf, parseOutlined } from '../notification/json.ts';
import { claimsOf, type Refusal, signerOf, unsigned, verifySigned } from '../notification/token.ts';
import type { Observer } from '../observer.ts';
import type { EventStore, Recorded } from '../store/event-store.ts';
import { answer, answerError, answerTooLarge, answerUnavailable } from './answer.ts';
import { collectBody } from './body.ts';
import { Failures } from './failures.ts';
import type { Keyring } from './keyring.ts';
import { observed } from './observed.ts';
import { Quarantine } from './quarantine.ts';
import { REFUSAL_LINES, refusalLog } from './refusal-log.ts';
import { label, toVerified } from './verified.ts';

export interface WebhookRouteOptions {
  readonly store: Pick<EventStore, 'record' | 'quarantine'>;
  readonly keyring: Pick<Keyring, 'keysFor' | 'everyKey' | 'mostKeys' | 'refresh'>;
  /** largest body, in bytes */
  readonly bodyLimit: number;
  /** failed verifications a minute and source, beyond which 429 takes the place of 401 */
  readonly rejectLimit: number;
  readonly quarantineMaxBytes: number;
  /** called with how many notifications the quarantine had no room for */
  readonly onQuarantineLost?: ((lost: number) => void) | undefined;
  /** requests that may wait for their commit at once */
  readonly maxWaitingAcks: number;
  /** lines a second about what is refused, 10 unless told otherwise */
  readonly refusalLines?: number | undefined;
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
/** So many keys are tried on a token sooner than its claims are gone through for the webhook that they name. */
const FEW_KEYS = 2;

/** What the provider sends has eight; making a value of very many takes longer than may be spent on what is not signed. */
const FEW_PIECES = 500;

/** A body that was read and gone through, with the token that came with it. */
interface Claimed {
  readonly token: string;
  readonly bytes: Buffer;
  readonly outline: Outline;
  readonly webhookId: string;
  /** what it says, where that costs little to know; of the others it is known once their signature is right */
  readonly read: Read | undefined;
}

/** A body's text, and the value of it. */
interface Read {
  readonly value: JsonObject;
  readonly text: string;
}

/** The handlers of the webhook route, in the order of the table of answers. */
export function webhookRoute(options: WebhookRouteOptions): RequestHandler[] {
  const { store, keyring, rejectLimit, onAccepted } = options;
  const failures = new Failures(MINUTE_MS, rejectLimit);
  const quarantine = new Quarantine({
    store,
    log: options.log,
    maxBytes: options.quarantineMaxBytes,
    onLost: options.onQuarantineLost,
  });
  const logRefusal = refusalLog(options.log, options.refusalLines ?? REFUSAL_LINES);
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

  /** What the head of a request tells is enough to refuse most that is refused; its body is not waited for then. */
  const examineHead: RequestHandler = (req, res, next) => {
    if (Number(req.headers['content-length']) > options.bodyLimit) return answerTooLarge(res);
    const token = bearerOf(req);
    if (token === undefined) {
      failures.increment(sourceOf(req));
      closeIfEndless(req, res);
      return challenge(res, 'an Authorization header of the form "Bearer TOKEN" is needed');
    }
    res.locals.token = token;
    if (failures.isOver(sourceOf(req)) && !isSigned(token)) {
      closeIfEndless(req, res);
      return void limitRejections(req, res, next);
    }
    if (isEncoded(req)) {
      closeIfEndless(req, res);
      return refuseBody(req, res, 'compressed');
    }
    next();
  };

  /** Whether a token may verify, as far as it tells by itself. */
  const isSigned = (token: string): boolean => {
    const claims = claimsOf(token);
    if (claims === undefined) return false;
    const every = keyring.everyKey(FEW_KEYS);
    if (every) return signerOf(token, every, 1) !== undefined;
    const keys = keyring.keysFor(label(webhookIdIn(Buffer.from(claims, 'base64url'))));
    return signerOf(token, keys, keyring.mostKeys) !== undefined;
  };

  // Every content type: the provider's is not documented.
  const rawBody = collectBody(options.bodyLimit);

  const readBody: RequestHandler = (req, res, next) => {
    rawBody(req, res, (error?: unknown) => {
      if (error !== undefined) failures.increment(sourceOf(req));
      next(error);
    });
  };

  const receive = async (req: Request, res: Response, next: () => void): Promise<void> => {
    const verdict = await judge(req, res);
    if (verdict === undefined) return;
    if ('reason' in verdict) {
      res.locals.refusal = verdict;
      return next();
    }
    // Asked again: many may have come while none was waiting yet.
    if (waitingAcks >= options.maxWaitingAcks) return answerUnavailable(res, 'overloaded');
    waitingAcks++;
    const recorded = await store.record(toVerified(verdict.value, verdict.text)).finally(() => waitingAcks--);
    res.locals.recorded = recorded;
    if (recorded.status === 'accepted') onAccepted();
    if (options.log.isLevelEnabled('debug')) req.log.debug(recorded, 'notification recorded');
    answer(res, 200, recorded satisfies Recorded);
  };

  /** What a request says, if it is verified, or why it is not; undefined where its body was refused. */
  const judge = async (req: Request, res: Response): Promise<Read | Refusal | undefined> => {
    const bytes: Buffer = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
    try {
      const outline = outlineOf(bytes);
      const claimed: Claimed = {
        token: res.locals.token,
        bytes,
        outline,
        webhookId: label(outline.webhookId),
        read: outline.pieces > FEW_PIECES ? undefined : read(bytes, outline),
      };
      res.locals.claimed = claimed;
      return await verify(claimed);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      refuseBody(req, res, error.message);
      return undefined;
    }
  };

  const verify = async (claimed: Claimed): Promise<Read | Refusal> => {
    const { webhookId } = claimed;
    const keys = keyring.keysFor(webhookId);
    const verdict = verifyWith(claimed, keys);
    if (!('reason' in verdict)) return verdict;
    // A flood of forgeries is not to pile up here: what is beyond goes by the secrets known now, at most a second old.
    if (lookups >= MAX_LOOKUPS) return verdict;
    lookups++;
    // The secret may have been stored a moment ago by another process. Whatever a refusal is for, it waits for this, so
    // that the time that it takes does not tell what it was for, nor whether the webhook has a secret.
    await keyring.refresh().finally(() => lookups--);
    const now = keyring.keysFor(webhookId);
    const isAsBefore = now.length === keys.length && now.every((key, index) => key === keys[index]);
    return isAsBefore ? verdict : verifyWith(claimed, now);
  };

  const verifyWith = (
    { token, bytes, outline, read: known }: Claimed,
    keys: readonly KeyObject[],
  ): Read | Refusal => {
    const signer = signerOf(token, keys, keyring.mostKeys);
    if (!signer) return unsigned(token, keys);
    // Nobody without a secret gets as far as here.
    const { value, text } = known ?? read(bytes, outline);
    return verifySigned(token, value, signer, text) ?? { value, text };
  };

  // Stands behind verification, so that it counts and throttles only what failed.
  const limitRejections = rateLimit({
    windowMs: MINUTE_MS,
    limit: rejectLimit,
    store: failures,
    keyGenerator: sourceOf,
    standardHeaders: false,
    legacyHeaders: false,
    // Anybody may send this header; it counts only where TRUST_PROXY says so.
    validate: false,
    handler: (req, res) => {
      // Once a source and minute: a flood is not to fill the disk with lines about itself.
      if (hitsOf(req) === rejectLimit + 1) logRefusal(req, { source: req.ip }, 'source throttled');
      res.set('Retry-After', String(MINUTE_MS / 1000));
      answerError(res, 429, 'too many notifications that cannot be verified');
    },
  });

  const refuseBody = (req: Request, res: Response, problem: string): void => {
    failures.increment(sourceOf(req));
    answerError(res, 400, `the body is ${problem}`);
  };

  const reject = (req: Request, res: Response): void => {
    const refusal: Refusal = res.locals.refusal;
    const { token, webhookId, read: known }: Claimed = res.locals.claimed;
    const source = req.ip ?? ''; // gone once the connection is closed
    challenge(res, 'the notification could not be verified');
    logRefusal(req, { ...refusal, webhookId }, 'notification refused');
    const isUnexplained = refusal.reason === 'bad signature' || refusal.reason === 'no secret';
    if (isUnexplained && known) quarantine.add({ token, ...known, source });
  };

  return [
    observed(options.observer),
    requirePost,
    refuseIfBusy,
    examineHead,
    readBody,
    receive,
    limitRejections,
    reject,
  ];
}

/** What counts as one source: an address, or the network of an IPv6 address, as one host has all of that. */
function sourceOf(req: Request): string {
  return ipKeyGenerator(req.ip ?? '');
}

/** How often the source of a request has failed, as the limiter counted. */
function hitsOf(req: Request): number | undefined {
  return (req as Request & { rateLimit?: RateLimitInfo }).rateLimit?.used;
}

/** What stands behind `Bearer`, where nothing else does. */
function bearerOf(req: Request): string | undefined {
  const value = req.headers.authorization ?? '';
  // Two of them and another reader may go by the other one.
  if (!/^Bearer /i.test(value) || countOf(req, 'authorization') !== 1) return undefined;
  let start = BEARER.length;
  while (value[start] === ' ') start++;
  const token = value.slice(start);
  return token === '' || token.includes(' ') || token.includes('\t') ? undefined : token;
}

const BEARER = 'Bearer ';

/** How often a header of this name came. Node's own `headersDistinct` makes a list for each of a thousand other names. */
function countOf({ rawHeaders }: Request, name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) count++;
  }
  return count;
}

/** No provider compresses what is a few hundred bytes long, and a hundred bytes may become the largest body. */
function isEncoded(req: Request): boolean {
  const encoding = req.headers['content-encoding'];
  return encoding !== undefined && encoding.toLowerCase() !== 'identity';
}

/** A body without a length might never end: its sender is told that the rest is not read. */
function closeIfEndless(req: Request, res: Response): void {
  if (req.headers['transfer-encoding'] !== undefined) res.set('Connection', 'close');
}

function read(bytes: Buffer, outline: Outline): Read {
  const text = decode(bytes);
  return { text, value: parseOutlined(text, bytes, outline) };
}

function webhookIdIn(claims: Buffer): string {
  try {
    return outlineOf(claims).webhookId;
  } catch (error) {
    if (error instanceof SyntaxError) return '';
    throw error;
  }
}

function challenge(res: Response, message: string): void {
  res.set('WWW-Authenticate', 'Bearer');
  answerError(res, 401, message);
}
