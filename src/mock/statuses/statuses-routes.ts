import express, { type RequestHandler, type Response, type Router } from 'express';
import { accountEntity } from './accounts.ts';
import { answerPage } from './answer-page.ts';
import { ApiError, answerError, recordNotFound } from './api-error.ts';
import type { Scope } from './authorization.ts';
import { type Call, callOf, idOf, type Parts } from './call.ts';
import { openToPages } from './cors.ts';
import { createStatus } from './create-status.ts';
import { instanceEntity } from './instance.ts';
import { mediaEntity } from './media-attachments.ts';
import { originOf } from './origin.ts';
import { readParameters } from './request-parameters.ts';
import { scheduledStatusEntity } from './scheduled-status.ts';
import { statusEntity } from './status-entity.ts';

/** All routes of the API, with their full paths. */
export function statusesRouter(parts: Parts): Router {
  const { gate, media, statuses, scheduled, accounts, clock, baseUrl, requests } = parts;

  /** A route for users: who calls is settled before anything is read, and everything is read before anything is done. */
  const forUser = (scope: Scope, operate: (call: Call, response: Response) => unknown): RequestHandler => {
    return async (request, response) => {
      const caller = gate.user(request, scope);
      const parameters = await readParameters(request, response);
      response.json(operate(callOf(request, caller, parameters, baseUrl), response));
    };
  };

  const show = forUser('read:statuses', ({ account, id }) =>
    scheduledStatusEntity(scheduled.find(account, id)),
  );
  const change = forUser('write:statuses', ({ account, id, parameters: { scheduled_at: at } }) => {
    const record = scheduled.find(account, id);
    return scheduledStatusEntity(at === undefined ? record : scheduled.reschedule(record, at));
  });
  const cancel = forUser('write:statuses', ({ account, id }) => {
    scheduled.cancel(scheduled.find(account, id));
    return {};
  });
  const list = forUser('read:statuses', ({ account, parameters, origin }, response) => {
    const listing = {
      records: scheduled.of(account),
      parameters,
      url: `${origin}/api/v1/scheduled_statuses`,
    };
    return answerPage(listing, response).map(scheduledStatusEntity);
  });
  const create = forUser('write:statuses', (call) => createStatus(call, parts));
  const upload = forUser('write:media', ({ account, parameters, origin }) =>
    mediaEntity(media.upload(account, parameters, origin)),
  );
  const showMedia = forUser('write:media', ({ account, id }) => mediaEntity(media.find(account, id)));
  const showAccount = forUser('read:accounts', ({ account, origin }) => accountEntity(account, origin));

  const showStatus: RequestHandler = (request, response) => {
    const viewer = gate.anybody(request, 'read:statuses')?.account;
    const status = statuses.find(idOf(request), viewer);
    response.json(statusEntity(status, originOf(request, baseUrl), clock.now()));
  };
  const listPublished: RequestHandler = async (request, response) => {
    const viewer = gate.anybody(request, 'read:statuses')?.account;
    const author = accounts.get(idOf(request));
    if (author === undefined) throw recordNotFound();
    const origin = originOf(request, baseUrl);
    const parameters = await readParameters(request, response);
    const url = `${origin}/api/v1/accounts/${author.id}/statuses`;
    const found = answerPage({ records: statuses.by(author, viewer), parameters, url }, response);
    response.json(found.map((status) => statusEntity(status, origin, clock.now())));
  };
  const showInstance: RequestHandler = (request, response) => {
    response.json(instanceEntity(originOf(request, baseUrl)));
  };

  const router = express.Router();
  router.use('/api', openToPages(requests), gate.count);
  router.get('/api/v1/scheduled_statuses', list);
  router.route('/api/v1/scheduled_statuses/:id').get(show).put(change).patch(change).delete(cancel);
  router.post('/api/v1/statuses', create);
  router.get('/api/v1/statuses/:id', showStatus);
  router.post(['/api/v2/media', '/api/v1/media'], upload);
  router.get('/api/v1/media/:id', showMedia);
  router.get('/api/v1/accounts/:id/statuses', listPublished);
  router.get('/api/v1/accounts/verify_credentials', showAccount);
  router.get('/api/v1/instance', showInstance);
  router.use('/api', () => {
    throw new ApiError(404, 'Not Found');
  });
  router.use(answerError);
  return router;
}
