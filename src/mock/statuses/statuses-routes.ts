import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../random.ts';
import { type Account, accountEntity } from './accounts.ts';
import { ApiError, answerError, recordNotFound } from './api-error.ts';
import { openToPages } from './cors.ts';
import type { Caller, Gate, Scope } from './gate.ts';
import type { IdempotencyKeys, Made } from './idempotency-keys.ts';
import { answerPage } from './list-page.ts';
import { type MediaAttachments, mediaEntity } from './media-attachments.ts';
import type { NewStatuses } from './new-status.ts';
import { type PublishedStatuses, statusEntity } from './published-statuses.ts';
import { type Parameters, readParameters } from './request-parameters.ts';
import { isBlank, scalar } from './scalars.ts';
import { type ScheduledStatuses, scheduledStatusEntity } from './scheduled-statuses.ts';

/** The state of the operations. */
export interface StatusesState {
  readonly gate: Gate;
  readonly media: MediaAttachments;
  readonly statuses: PublishedStatuses;
  readonly newStatuses: NewStatuses;
  readonly scheduled: ScheduledStatuses;
  readonly keys: IdempotencyKeys;
  /** The users that there are, by id. */
  readonly accounts: ReadonlyMap<string, Account>;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  /** Where request ids come from. */
  readonly requests: Random;
}

/** A request of a user that has passed the gate, with its parameters. */
interface UserRequest extends Caller {
  readonly parameters: Parameters;
  /** The `:id` of the path, or the empty string. */
  readonly id: string;
  /** Where the caller reached the mock, without a slash at the end. */
  readonly origin: string;
  /** The `Idempotency-Key`, or the empty string. */
  readonly idempotencyKey: string;
}

/** All routes of the API, with their full paths. */
export function statusesRouter(state: StatusesState): Router {
  const { gate, media, statuses, scheduled, accounts, clock, baseUrl, requests } = state;

  /** A route for users: it checks the token first, then reads the request, and only then does something. */
  const forUser = (
    scope: Scope,
    operate: (request: UserRequest, response: Response) => unknown,
  ): RequestHandler => {
    return async (request, response) => {
      const caller = gate.user(request, scope);
      const parameters = await readParameters(request, response);
      response.json(operate(userRequestOf(request, caller, parameters, baseUrl), response));
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
  const create = forUser('write:statuses', (request) => createStatus(request, state));
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

function userRequestOf(
  request: Request,
  caller: Caller,
  parameters: Parameters,
  baseUrl: () => string,
): UserRequest {
  return {
    ...caller,
    parameters,
    id: idOf(request),
    origin: originOf(request, baseUrl),
    idempotencyKey: request.get('idempotency-key')?.trim() ?? '',
  };
}

/** The `:id` of the path, or the empty string. */
function idOf({ params: { id } }: Request): string {
  return typeof id === 'string' ? id : '';
}

const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * The address at which the caller reached the mock, as `http://HOST:PORT`: from its Host header, or from the
 * `X-Forwarded-Host` and `X-Forwarded-Proto` of a proxy, as real servers do. Clients follow the links made from it.
 * @param fallback used if the request has no usable host
 */
function originOf(request: Request, fallback: () => string): string {
  const host = lastOf(request.get('x-forwarded-host')) ?? request.get('host') ?? '';
  if (!HOST.test(host)) return fallback().replace(/\/+$/, '');
  const protocol = lastOf(request.get('x-forwarded-proto')) === 'https' ? 'https' : request.protocol;
  return `${protocol}://${host}`;
}

function lastOf(header: string | undefined): string | undefined {
  return header?.split(',').at(-1)?.trim();
}

/**
 * `POST /api/v1/statuses`: schedules a status with a `scheduled_at`, and publishes one without at once. A repeated
 * `Idempotency-Key` gets, for an hour, the status that it made first, in its present state.
 * @throws ApiError 404 or 422
 */
function createStatus(request: UserRequest, state: StatusesState) {
  const { account, idempotencyKey } = request;
  const known = idempotencyKey === '' ? undefined : state.keys.find(account, idempotencyKey);
  const made = known ?? make(request, state);
  if (known === undefined && idempotencyKey !== '') state.keys.remember(account, idempotencyKey, made);
  return show(made, account, request, state);
}

function make(
  { account, token, parameters }: UserRequest,
  { newStatuses, scheduled, statuses }: StatusesState,
): Made {
  const content = newStatuses.read(account, token.application, parameters);
  const { scheduled_at: at } = parameters;
  const atOnce = at === undefined || at === null || (typeof at === 'string' && isBlank(scalar(at)));
  return atOnce
    ? { kind: 'published', id: statuses.publish(content).id }
    : { kind: 'scheduled', id: scheduled.schedule(content, at).id };
}

function show({ kind, id }: Made, account: Account, { origin }: UserRequest, state: StatusesState) {
  return kind === 'scheduled'
    ? scheduledStatusEntity(state.scheduled.find(account, String(id)))
    : statusEntity(state.statuses.find(String(id), account), origin, state.clock.now());
}

/** The release whose API the mock serves. Some clients check it before they use the features of a release. */
const RELEASE = '3.3.0';

/** The answer of `GET /api/v1/instance`. */
function instanceEntity(baseUrl: string) {
  return {
    uri: new URL(baseUrl).host,
    title: 'hookkit mock',
    short_description: 'A mock: nothing posted here is ever published.',
    description: '',
    email: '',
    version: RELEASE,
    urls: {},
    stats: { user_count: 2, status_count: 0, domain_count: 0 },
    thumbnail: null,
    languages: ['en'],
    registrations: false,
    approval_required: false,
    invites_enabled: false,
    contact_account: null,
    rules: [],
  };
}
