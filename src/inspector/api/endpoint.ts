import type { Request, Response } from 'express';
import { z } from 'zod';
import { sourceOf } from '../../base/request-source.ts';
import { visible } from '../../base/text.ts';
import type { AdminNeeds } from '../../observer.ts';
import type { Webhook } from '../../provider/index.ts';
import { RefusedError } from '../guard/refuse.ts';
import type { Watch } from '../watch/watch.ts';
import type { BulkVerbs } from './verbs.ts';

/** The sources of what the inspector shows: store and configuration of the service, its own watch, what it does with many events, and the provider. */
export interface Inspected extends AdminNeeds {
  readonly watch: Watch;
  readonly verbs: BulkVerbs;
  /** how many lines of the log were dropped since the start */
  droppedLogLines(): number;
  /** asks for the webhooks at the provider, or why they are not known; when a secret is newer than the last answer, again */
  registered(secretStoredAt: number): Promise<{ webhooks?: readonly Webhook[]; unknown?: string }>;
}

/** A switch as JSON and as query strings and forms have it. */
export const flag = z
  .union([z.boolean(), z.stringbool({ truthy: ['true', '1', 'on'], falsy: ['false', '0', ''] })])
  .default(false);

/** One route of the API: the schema of its requests, and its function. */
export interface Endpoint {
  readonly method: 'get' | 'post' | 'delete';
  /** as in Express, `/events/:id` */
  readonly path: string;
  readonly summary: string;
  /** of path, query and JSON body together */
  readonly input: z.ZodObject;
  /** @returns what becomes JSON, or lines of it */
  readonly run: Run<never>;
}

type Run<I> = (inspected: Inspected, input: I, res: Response) => Promise<object | string>;

const nothing = z.object({});

/** Makes an endpoint, and checks its function against its schema; without one, it takes nothing. */
export function endpoint<I extends z.ZodObject = typeof nothing>(
  method: Endpoint['method'],
  path: string,
  given: { readonly summary: string; readonly input?: I; readonly run: Run<z.output<I>> },
): Endpoint {
  return { method, path, input: nothing, ...given };
}

/** Checks a request, and does what it asks for. The log says who had something done, and what came of it. */
export async function answerTo({ method, input, run }: Endpoint, inspected: Inspected, res: Response) {
  const { req } = res;
  const answer = await run(inspected, inputOf(input, req) as never, res);
  if (method === 'get') return answer;
  const { ip: source, baseUrl, path, params, query, body } = req;
  const what = { path: `${baseUrl}${path}`, event: params.id, asked: { ...query, ...body }, answer };
  inspected.log.info({ source, ...what }, 'done at the inspector');
  return answer;
}

/** The change that a request asks for, and who asks. The reason may name somebody, and stands with the event or the pause alone. */
export function changeBy({ ip, query, body, params }: Request, what: string) {
  const { dry_run, id, reason, ...asked } = { ...query, ...body };
  const filters = { ...asked, ...(what === 'pause' && { reason }), ...params };
  return { what, filters, who: `inspector at ${sourceOf(ip)}` };
}

/**
 * Checks path, query and body of a request together. With a mistyped `dry_run`, a request would change events instead of counting them;
 * with a filter given twice, it would take or show more than its sender meant.
 * @throws RefusedError 400 that names each mistake, and each parameter that is not known or given more than once
 */
export function inputOf<S extends z.ZodObject>(schema: S, { query, body, params }: Request): z.output<S> {
  const known = Object.keys(schema.shape);
  const names = [query, body ?? {}, params].flatMap((given: object) => Object.keys(given));
  const unknown = names.filter((name) => !known.includes(name));
  const repeated = names.filter((name, at) => names.indexOf(name) < at || Array.isArray(query[name]));
  const [mistake, wrong] = unknown.length > 0 ? ['unknown', unknown] : ['given more than once', repeated];
  if (wrong.length > 0) {
    const asked = known.filter((name) => !Object.hasOwn(params, name)).join(', ') || 'none';
    const quoted = [...new Set(wrong)].map((name) => visible(JSON.stringify(name)));
    throw new RefusedError(400, `${mistake}: ${quoted.join(', ')}; known are ${asked}`);
  }
  return parsed(schema, { ...query, ...body, ...params });
}

/** Checks members. Empty ones count as absent, since forms send every field. @throws RefusedError 400 that names each mistake */
export function parsed<S extends z.ZodType>(schema: S, given: object): z.output<S> {
  const members = Object.entries(given).filter(([, value]) => value !== '');
  const { success, data, error } = schema.safeParse(Object.fromEntries(members));
  if (success) return data;
  const mistakes = error.issues.map(({ path, message }) => `${path.join('.') || 'request'}: ${message}`);
  throw new RefusedError(400, mistakes.join('; '));
}
