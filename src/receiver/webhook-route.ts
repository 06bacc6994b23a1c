import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from 'pino';
import type { MonotonicClock } from '../base/clock.ts';
import { giveBack } from '../base/gathered.ts';
import { sourceOf } from '../base/request-source.ts';
import type { Answered, Observer } from '../observer.ts';
import type { Probe } from '../store/commit-probe.ts';
import type { EventStore, Recorded } from '../store/event-store.ts';
import { answer, answerError } from './answer.ts';
import type { BoundedLog } from './bounded-log.ts';
import { Failures } from './failures.ts';
import type { Keyring } from './keyring.ts';
import { Quarantine } from './quarantine.ts';
import { readBody } from './read-body.ts';
import { logFailure } from './request-log.ts';
import {
  type Accepted,
  bearerOf,
  type Complete,
  type Head,
  type Limits,
  OVERLOADED,
  type Refused,
  throttled,
  type Unverified,
  type Verdict,
  verdictAfter,
  verdictOn,
} from './verdict.ts';

export interface WebhookRouteOptions {
  readonly store: Pick<EventStore, 'record' | 'quarantine'>;
  readonly keyring: Pick<Keyring, 'keysFor' | 'everyKey' | 'mostKeys' | 'refresh' | 'announce'>;
  readonly clock: MonotonicClock;
  /** largest body, in bytes */
  readonly bodyLimit: number;
  /** failed verifications a minute and source, beyond which 429 takes the place of 401 */
  readonly rejectLimit: number;
  readonly quarantineMaxBytes: number;
  /** called with how many notifications the quarantine had no room for */
  readonly onQuarantineLost?: ((lost: number, isCounted: boolean) => void) | undefined;
  /** requests that may wait for their commit at once */
  readonly maxWaitingAcks: number;
  /** told what became of each ack */
  readonly probe: Pick<Probe, 'noting'>;
  /** for lines about requests that were not served */
  readonly lines: BoundedLog;
  /** whether the service is shutting down */
  readonly isDraining: () => boolean;
  readonly log: Logger;
  readonly observer?: Observer | undefined;
}

/** So many requests at once may wait for a fresh read of the secrets; each holds some 30 KB. */
const MAX_LOOKUPS = 500;

/** A request under way. */
interface Exchange {
  readonly req: Request;
  readonly res: Response;
  /** when its head had come */
  readonly began: number;
  /** its sender's, which is gone once the connection is closed */
  readonly address: string;
  /** what failures are counted by */
  readonly source: string;
}

/** Answers each request on the webhook path with its verdict, and acts on it. */
export function webhookRoute(options: WebhookRouteOptions): RequestHandler {
  const { store, keyring, clock, log, lines, bodyLimit, rejectLimit, observer, probe } = options;
  const failures = new Failures(clock);
  const quarantine = new Quarantine({
    store,
    keyring,
    clock,
    log,
    lines,
    maxBytes: options.quarantineMaxBytes,
    onLost: options.onQuarantineLost,
  });
  let waitingAcks = 0;
  let lookups = 0;

  const isOverloaded = () => waitingAcks >= options.maxWaitingAcks;

  const limitsFor = (source: string): Limits => ({
    bodyLimit,
    isShuttingDown: options.isDraining(),
    isOverloaded: isOverloaded(),
    isThrottled: failures.of(source) >= rejectLimit,
  });

  const judge = async (request: Complete, limits: Limits): Promise<Verdict> => {
    const verdict = verdictOn(request, keyring, limits);
    // A flood of forgeries must not pile up here: more of them go by the secrets known now, at most a second old.
    if (verdict.type === 'accepted' || !verdict.unverified || lookups >= MAX_LOOKUPS) return verdict;
    lookups++;
    // Another process may have stored the secret a moment ago. Every refusal waits for this: so its time
    // reveals neither the reason nor whether the webhook has a secret.
    await keyring.refresh().finally(() => lookups--);
    return areKeysOf(verdict.unverified, keyring) ? verdict : verdictOn(request, keyring, limits);
  };

  const record = async ({ notification }: Accepted): Promise<Recorded | Refused> => {
    // Asked again: many requests may have come while none was waiting yet.
    if (isOverloaded()) return OVERLOADED;
    waitingAcks++;
    return probe.noting(store.record(notification)).finally(() => waitingAcks--);
  };

  const acknowledge = (exchange: Exchange, { notification }: Accepted, recorded: Recorded): void => {
    const { req, res } = exchange;
    if (log.isLevelEnabled('debug')) req.log.debug(recorded, 'notification recorded');
    const { kind, webhookId } = notification;
    answer(res, 200, recorded);
    observe(exchange, { source: '', recorded, error: undefined, refusal: undefined, kind, webhookId });
  };

  const refuse = (exchange: Exchange, verdict: Refused, cause?: unknown): void => {
    const { req, res, address, source } = exchange;
    const count = verdict.isFailure ? failures.add(source) : 0;
    const isThrottled = verdict.status === 429 || (verdict.unverified !== undefined && count > rejectLimit);
    const { unverified, ...told } = isThrottled ? throttled(verdict) : verdict;
    const { refusal, kind = '', webhookId = '' } = unverified ?? {};
    answerError(res, told);
    observe(exchange, { source: address, recorded: undefined, error: told.error, refusal, kind, webhookId });
    if (told.status >= 500) logFailure(lines, req, { ...told, cause });
    // Once a source and minute: a flood is not to fill the disk with lines about itself.
    if (isThrottled && count === rejectLimit + 1) lines.refusal(req, { source: address }, 'source throttled');
    if (!unverified) return;
    if (!isThrottled) lines.refusal(req, { ...refusal, webhookId }, 'notification refused');
    if (isUnexplained(unverified)) keep(unverified, address);
  };

  const keep = ({ token, content }: Unverified, source: string): void => {
    if (content) quarantine.add({ token, content, source });
  };

  /** Refuses a notification of a throttled source by its head, and keeps it if it may be genuine. */
  const refuseThrottled = async (exchange: Exchange, head: Head, verdict: Refused): Promise<void> => {
    const { req, address, source } = exchange;
    const most = quarantine.wants(head, source);
    const content = most > 0 ? await readBody(req, Math.min(most, bodyLimit)) : undefined;
    refuse(exchange, verdict);
    if (head.token !== undefined && content instanceof Uint8Array)
      quarantine.add({ token: head.token, content, source: address });
  };

  /** Tells the observer about a request that was just answered. */
  const observe = ({ res, began }: Exchange, told: Omit<Answered, 'status' | 'ms'>): void => {
    observer?.answered({ ...told, status: res.statusCode, ms: clock.monotonic() - began });
  };

  return async (req, res) => {
    const address = req.ip ?? '';
    const source = sourceOf(address);
    const exchange = { req, res, address, source, began: clock.monotonic() };
    const head = headOf(req);
    const limits = limitsFor(source);
    const early = verdictOn({ head }, keyring, limits);
    if (early?.status === 429) return refuseThrottled(exchange, head, early);
    if (early) return refuse(exchange, early);
    // The head has shown that the token of a throttled source may verify: that is not worked out again.
    const passed = { ...limits, isThrottled: false };
    try {
      const body = await readBody(req, bodyLimit);
      const verdict = await judge({ head, body }, passed).finally(() => {
        if (typeof body !== 'string') giveBack(body);
      });
      if (verdict.type === 'refused') return refuse(exchange, verdict);
      const recorded = await record(verdict);
      if ('type' in recorded) return refuse(exchange, recorded);
      acknowledge(exchange, verdict, recorded);
    } catch (error) {
      if (res.headersSent) throw error;
      refuse(exchange, verdictAfter(error), error);
    }
  };
}

function headOf(req: Request): Head {
  const { authorization = '', 'content-length': length, 'content-encoding': contentEncoding } = req.headers;
  const bearer = bearerOf(authorization);
  return {
    method: req.method,
    // If there are two of them, another reader may go by the other one.
    token: bearer !== undefined && countOf(req, 'authorization') === 1 ? bearer : undefined,
    contentLength: Number(length),
    contentEncoding,
    isChunked: req.headers['transfer-encoding'] !== undefined,
  };
}

/** How often a header of this name came. Node's own `headersDistinct` makes a list for each of a thousand other names. */
function countOf({ rawHeaders }: Request, name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) count++;
  }
  return count;
}

/** Whether a webhook's live keys are still the keys that did not verify a token. */
function areKeysOf({ webhookId, keys }: Unverified, keyring: Pick<Keyring, 'keysFor'>): boolean {
  const now = keyring.keysFor(webhookId);
  return now.length === keys.length && now.every((key, index) => key === keys[index]);
}

/** Whether a secret that is not known yet may explain the token. */
function isUnexplained({ refusal }: Unverified): boolean {
  return refusal.reason === 'bad signature' || refusal.reason === 'no secret';
}
