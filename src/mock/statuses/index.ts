import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../random.ts';
import { type Method, parse } from '../requests.ts';
import { accountEntity, alice, bob, signIn } from './accounts.ts';
import { ApiError, answerApiError, openToPages, recordNotFound } from './answers.ts';
import { mediaAttachments, mediaEntity } from './media-attachments.ts';
import { readNewStatus } from './new-status.ts';
import { answerPage, isBlank, parametersOf, readRawBody } from './parameters.ts';
import { type PublishedStatus, publishedStatuses, statusEntity } from './published-statuses.ts';
import { scheduledStatusEntity, scheduledStatuses } from './scheduled-statuses.ts';

export { defaultTokens } from './accounts.ts';

/** How to make the mock of the scheduled statuses API. */
export interface StatusesApiOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Absolute address of the mock, for links in answers to requests without a usable Host header. */
  readonly baseUrl: () => string;
}

/** The mock of the scheduled statuses API. */
interface StatusesApi {
  /** Serves everything under `/api/`, `/oauth/token` and nodeinfo. Mount it at the root, before any body parser. */
  readonly router: RequestHandler;
  /** Forgets everything: statuses, media, keys, clients, counted requests, and how it behaves. */
  reset(): void;
  /** @throws MockError 400 */
  behave(as: unknown): Behaviour;
}

/**
 * Makes the mock of the scheduled statuses API, as `docs/mock-statuses.md` describes it, with its state in memory.
 * @example
 * const app = express().use(createStatusesApi({ clock, random, baseUrl: () => 'http://127.0.0.1:4010' }).router);
 */
export function createStatusesApi(options: StatusesApiOptions): StatusesApi {
  const behaviour: Behaviour = { before_4_3: false };
  let router = statusesRouter(options, behaviour);
  return {
    router: (request, response, next) => router(request, response, next),
    reset() {
      behaviour.before_4_3 = false;
      router = statusesRouter(options, behaviour);
    },
    behave: (as) => Object.assign(behaviour, parse(behaviourSchema, as)),
  };
}

const behaviourSchema = z.strictObject({ before_4_3: z.boolean() });

/**
 * Whether the mock schedules as releases before 4.3 did: it ignores the `Idempotency-Key`, and publishes a status that is less than
 * five minutes ahead at once.
 */
export type Behaviour = z.infer<typeof behaviourSchema>;

/** How long an `Idempotency-Key` is remembered, in milliseconds. */
const KEY_LIFETIME = 3_600_000;

/** The facts about a request that an operation gets. */
async function callOf(request: Request, baseUrl: () => string) {
  return {
    parameters: await parametersOf(request),
    /** The `:id` of the path, where it has one. */
    id: String(request.params.id),
    /** Where the caller reached the mock, without a slash at the end. */
    origin: originOf(request, baseUrl),
    /** The `Idempotency-Key`, or the empty string. */
    key: request.get('idempotency-key')?.trim() ?? '',
  };
}

type Call = Awaited<ReturnType<typeof callOf>>;

/** All routes of the API, with their full paths and a state of their own. */
function statusesRouter({ clock, random, baseUrl }: StatusesApiOptions, behaviour: Behaviour): Router {
  const { register, grant, countRequest, user, viewer } = signIn(clock, random);
  const media = mediaAttachments(random);
  const statuses = publishedStatuses(clock, media);
  const scheduled = scheduledStatuses(clock, media, statuses);
  const router = express.Router();
  router.use(['/api', '/oauth/token', '/.well-known/nodeinfo', '/nodeinfo'], openToPages, countRequest);

  /** A route: it checks who calls first, then reads the request, and only then does something. */
  const serve = <Caller>(
    method: Method,
    path: string | string[],
    callerOf: (request: Request) => Caller,
    operate: (caller: Caller, call: Call, response: Response) => unknown,
  ) => {
    const admit: RequestHandler = (request, _response, next) => {
      callerOf(request);
      next();
    };
    router[method](path, admit, readRawBody, async (request, response) => {
      response.json(operate(callerOf(request), await callOf(request, baseUrl), response));
    });
  };
  const reader = user('read:statuses');
  const writer = user('write:statuses');
  const uploader = user('write:media');
  const anyone = () => undefined;
  const show = (status: PublishedStatus, origin: string) => statusEntity(status, origin, clock.now());

  serve('get', '/api/v1/scheduled_statuses', reader, (caller, { parameters, origin }, response) => {
    const url = `${origin}/api/v1/scheduled_statuses`;
    const page = answerPage(scheduled.of(caller), { parameters, url }, response);
    return page.map(scheduledStatusEntity);
  });
  const scheduledStatus = '/api/v1/scheduled_statuses/:id';
  serve('get', scheduledStatus, reader, (caller, { id }) =>
    scheduledStatusEntity(scheduled.find(caller, id)),
  );
  for (const method of ['put', 'patch'] as const) {
    serve(method, scheduledStatus, writer, (caller, { id, parameters: { scheduled_at: at } }) => {
      const record = scheduled.find(caller, id);
      return scheduledStatusEntity(at === undefined ? record : scheduled.reschedule(record, at));
    });
  }
  serve('delete', scheduledStatus, writer, (caller, { id }) => {
    scheduled.cancel(scheduled.find(caller, id));
    return {};
  });

  /** What each user's keys made, until when. */
  const made = new Map<string, { readonly until: number; show(origin: string): unknown }>();
  serve('post', '/api/v1/statuses', writer, (caller, { parameters, origin, key }) => {
    const earlier = made.get(`${caller.id}:${key}`);
    if (earlier && earlier.until > clock.now()) return earlier.show(origin);
    const { scheduled_at: at } = parameters;
    const isUntimed = at === undefined || at === null || (typeof at === 'string' && isBlank(at));
    const isAtOnce = isUntimed || (behaviour.before_4_3 && scheduled.isTooSoon(at));
    const content = readNewStatus(caller, parameters, { media, canReplyTo: statuses.isVisible, isAtOnce });
    const { id } = isAtOnce ? statuses.publish(content) : scheduled.schedule(content, at);
    const showNow = (origin: string) =>
      isAtOnce
        ? show(statuses.find(String(id), caller), origin)
        : scheduledStatusEntity(scheduled.find(caller, String(id)));
    if (key !== '' && (isAtOnce || !behaviour.before_4_3))
      made.set(`${caller.id}:${key}`, { until: clock.now() + KEY_LIFETIME, show: showNow });
    return showNow(origin);
  });
  const status = '/api/v1/statuses/:id';
  serve('get', status, viewer, (caller, { id, origin }) => show(statuses.find(id, caller), origin));
  serve('delete', status, writer, (caller, { id, origin }) => {
    const deleted = statuses.delete(id, caller);
    const { content: _, ...entity } = show(deleted, origin);
    return { ...entity, text: deleted.params.text }; // the source, so that it can be written again
  });
  serve('get', '/api/v1/accounts/:id/statuses', viewer, (caller, { id, parameters, origin }, response) => {
    const author = [alice, bob].find((account) => String(account.id) === id);
    if (author === undefined) throw recordNotFound();
    const url = `${origin}/api/v1/accounts/${id}/statuses`;
    const page = answerPage(statuses.by(author, caller), { parameters, url }, response);
    return page.map((one) => show(one, origin));
  });

  serve('post', ['/api/v2/media', '/api/v1/media'], uploader, (caller, { parameters, origin }) =>
    mediaEntity(media.upload(caller, parameters, origin)),
  );
  const file = '/api/v1/media/:id';
  serve('get', file, uploader, (caller, { id }) => mediaEntity(media.find(caller, id)));
  serve('put', file, uploader, (caller, { id, parameters }) =>
    mediaEntity(media.update(caller, id, parameters)),
  );

  serve('get', '/api/v1/accounts/verify_credentials', user('read:accounts'), (caller, { origin }) =>
    accountEntity(caller, origin),
  );
  serve('get', '/api/v1/instance', anyone, (_, { origin }) => instanceEntity(origin));
  serve('get', '/.well-known/nodeinfo', anyone, (_, { origin }) => ({
    links: [{ rel: 'http://nodeinfo.diaspora.software/ns/schema/2.0', href: `${origin}/nodeinfo/2.0` }],
  }));
  serve('get', '/nodeinfo/2.0', anyone, () => ({ version: '2.0', software: { name: 'mastodon', version } }));
  serve('post', '/api/v1/apps', anyone, (_, { parameters }) => register(parameters));
  serve('post', '/oauth/token', anyone, (_, { parameters }) => grant(parameters));
  router.use('/api', () => {
    throw new ApiError(404, 'Not Found');
  });
  router.use(answerApiError);
  return router;
}

const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * The address at which the caller reached the mock, as `http://HOST:PORT`: from its Host header, or from the
 * `X-Forwarded-Host` and `X-Forwarded-Proto` of a proxy, as real servers do. Clients follow the links made from it.
 * @param fallback used if the request has no usable host
 */
function originOf(request: Request, fallback: () => string): string {
  const lastOf = (header: string) => request.get(header)?.split(',').at(-1)?.trim();
  const host = lastOf('x-forwarded-host') ?? request.get('host') ?? '';
  if (!HOST.test(host)) return fallback();
  const protocol = lastOf('x-forwarded-proto') === 'https' ? 'https' : request.protocol;
  return `${protocol}://${host}`;
}

/** The release: some clients check it before they use its features. */
const version = '3.3.0';

/** `GET /api/v1/instance` */
function instanceEntity(baseUrl: string) {
  return {
    uri: new URL(baseUrl).host,
    title: 'hookkit mock',
    short_description: 'A mock: nothing posted here is ever published.',
    description: '',
    email: '',
    version,
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
