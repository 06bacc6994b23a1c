import express from 'express';
import type { Config } from '../config.ts';
import { answer, answerError } from './answer.ts';
import { readinessOf } from './readiness.ts';
import { requestLogOf } from './request-log.ts';
import { type Refused, refused, SHUTTING_DOWN, unavailable, verdictAfter } from './verdict.ts';
import { type ReceiverParts, webhookRoute } from './webhook-route.ts';

/** The public app: the webhook route, `/healthz`, `/readyz`, and nothing else. */
export function createReceiver(config: Config, parts: ReceiverParts): express.Express {
  const { store, clock, log, phase } = parts;
  const readiness = readinessOf(store, clock);
  const requestLog = requestLogOf(log, clock);
  const refuse = (req: express.Request, res: express.Response, verdict: Refused, cause?: unknown): void => {
    answerError(res, verdict);
    requestLog.failed(req, res, verdict, cause);
  };
  const app = express().disable('x-powered-by');
  app.set('trust proxy', config.TRUST_PROXY); // so many entries of X-Forwarded-For are believed
  app.set('query parser', false);
  app.all(config.WEBHOOK_PATH, ...webhookRoute(config, { ...parts, readiness, requestLog }));

  app.get('/healthz', (_req, res) => answer(res, 200, { status: 'ok' }));
  app.get('/readyz', async (req, res) => {
    const isDraining = phase() !== 'open';
    if (!isDraining && (await readiness.check())) return answer(res, 200, { status: 'ready' });
    refuse(req, res, isDraining ? SHUTTING_DOWN : BUSY);
  });

  app.use((_req, res) => answerError(res, NOTHING_HERE));
  const failed: express.ErrorRequestHandler = (cause, req, res, next) => {
    if (res.headersSent) next(cause);
    else refuse(req, res, verdictAfter(cause), cause);
  };
  return app.use(failed);
}

const BUSY = unavailable('the store is busy');
const NOTHING_HERE = refused(404, 'there is nothing here');
