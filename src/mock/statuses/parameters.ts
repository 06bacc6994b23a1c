import express, { type Response as Answer, type Request, type RequestHandler } from 'express';
import { ApiError } from './answers.ts';

/** The parameters of a request, by name, wherever in the request they came from. Without a prototype. */
export type Parameters = { readonly [name: string]: unknown };

/** A plain value as JSON or a form gives it. */
export type Scalar = string | number | boolean;

/** Reads the body of a request; larger uploads are of no use in a mock that keeps everything in memory. */
export const readRawBody: RequestHandler = express.raw({ type: () => true, limit: '16mb' });

/**
 * The parameters of a request whose body was read. Query string, urlencoded form, multipart form and JSON are equally
 * understood on every operation; a parameter of the body outweighs one of the query. A body of any other type is ignored.
 * @throws ApiError 400 if the body does not match its Content-Type
 */
export async function parametersOf(request: Request): Promise<Parameters> {
  const [, ...query] = request.originalUrl.split('?');
  const fromQuery = nest(new URLSearchParams(query.join('?')));
  const body: unknown = request.body;
  if (!Buffer.isBuffer(body) || body.length === 0) return fromQuery;
  const contentType = request.get('content-type') ?? 'application/x-www-form-urlencoded';
  return Object.assign(fromQuery, await parseBody(body, contentType));
}

const FORMS = new Set(['application/x-www-form-urlencoded', 'multipart/form-data']);

async function parseBody(body: Buffer, contentType: string): Promise<object> {
  const mediaType = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  // Node's own parsers, those behind `fetch`, take everything that real clients produce.
  const sent = new Response(new Uint8Array(body), { headers: { 'Content-Type': contentType } });
  const refuse = () => {
    throw new ApiError(400, 'Error occurred while parsing request parameters');
  };
  if (mediaType === 'application/json') {
    const value: unknown = await sent.json().catch(refuse);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  }
  return FORMS.has(mediaType) ? nest(await sent.formData().catch(refuse)) : {};
}

/** `name`, `name[]`, `name[member]` and `name[member][]`: no operation of this API has parameters that nest deeper. */
const KEY = /^([^[\]]+)(?:\[([^[\]]+)\])?(\[\])?$/;

type Building = { [name: string]: unknown };

/**
 * Puts the flat entries of a query or a form together as Rails does: `media_ids[]` makes a list, `poll[options][]` a list
 * inside of an object, and of two plain entries with one name the last one counts.
 * @throws ApiError 400 where one name is used both as a list or object and as a plain value
 */
function nest(entries: Iterable<readonly [string, unknown]>): Building {
  const parameters = emptyParameters();
  for (const [key, value] of entries) {
    const [, name, member, list] = KEY.exec(key) ?? [];
    if (name === undefined) continue;
    const target = member === undefined ? parameters : within(parameters, name, emptyParameters, isBuilding);
    const leaf = member ?? name;
    if (list === undefined) target[leaf] = value;
    else within(target, leaf, () => [], Array.isArray).push(value);
  }
  return parameters;
}

function emptyParameters(): Building {
  return Object.create(null);
}

function isBuilding(value: unknown): value is Building {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
}

/** The list or object of this name in another, made where there is none. @throws ApiError 400 where it is something else */
function within<T>(target: Building, name: string, make: () => T, isOne: (value: unknown) => value is T): T {
  target[name] ??= make();
  const found = target[name];
  if (isOne(found)) return found;
  throw new ApiError(400, `Bad Request: the parameter ${name} is both a plain value and a list or object`);
}

/** The value if it is plain; lists, objects, files and null are not, and count as not sent. */
export function scalar(value: unknown): Scalar | undefined {
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isPlain ? value : undefined;
}

/** A plain value as a text; empty where none was sent. */
export function text(value: unknown): string {
  return String(scalar(value) ?? '');
}

/** The list if it is one and each of its elements is plain; else it counts as not sent. */
export function scalars(value: unknown): Scalar[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const plain = value.map(scalar).filter((one) => one !== undefined);
  return plain.length === value.length ? plain : undefined;
}

/** The integer at the beginning of a value, as Ruby reads it; 0 if there is none. */
export function leadingInteger(value: Scalar): number {
  const [digits] = /^\s*[+-]?\d+/.exec(String(value)) ?? ['0'];
  return Number(digits);
}

/** A value as a yes or no, as Rails reads it. */
export function truth(value: Scalar | undefined | null): boolean {
  return value != null && !['', '0', 'f', 'false', 'off'].includes(String(value).toLowerCase());
}

/** Whether a text is empty or only spaces. */
export function isBlank(value: Scalar | undefined | null): boolean {
  return value == null || String(value).trim() === '';
}

/** How many records a page has where the caller does not say, and at most. */
const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 40;

/**
 * The page that is asked for: always id descending. `min_id` takes the records right above it and then does away with
 * `since_id`; `max_id` holds with either. The way to the pages beside it goes into the answer's Link header (RFC 8288):
 * `next` only from a full page, `prev` from any but an empty one.
 * @param records id descending
 * @param asked the parameters of the request, and the absolute address of the list without a query
 */
export function answerPage<T extends { readonly id: number }>(
  records: readonly T[],
  asked: { readonly parameters: Parameters; readonly url: string },
  response: Answer,
): T[] {
  const { parameters, url } = asked;
  const sentLimit = scalar(parameters.limit);
  const limit = Math.min(Math.abs(leadingInteger(sentLimit ?? 0)) || LIMIT_DEFAULT, LIMIT_MAX);
  const [maxId, sinceId, minId] = ['max_id', 'since_id', 'min_id'].map((name) => cursor(parameters[name]));
  // Nothing is above or below a cursor that is not a number.
  const isMeant = [maxId, sinceId, minId].every((one) => !Number.isNaN(one));
  const within = records.filter(
    ({ id }) => isMeant && id < (maxId ?? Number.POSITIVE_INFINITY) && id > (minId ?? sinceId ?? 0),
  );
  const page = minId === undefined ? within.slice(0, limit) : within.slice(-limit);
  const [first, last] = [page[0], page.at(-1)];
  if (first === undefined || last === undefined) return page;
  const link = (name: string, id: number, rel: string) => {
    const query = new URLSearchParams(sentLimit === undefined ? {} : { limit: `${sentLimit}`.slice(0, 40) });
    query.set(name, String(id));
    return `<${url}?${query}>; rel="${rel}"`;
  };
  const next = page.length < limit ? [] : [link('max_id', last.id, 'next')];
  response.set('Link', [...next, link('min_id', first.id, 'prev')].join(', '));
  return page;
}

/** The id that a cursor names; undefined if there is none, NaN if it is not a whole number. */
function cursor(sent: unknown): number | undefined {
  if (sent === undefined || sent === null || (typeof sent === 'string' && isBlank(sent))) return undefined;
  const digits = text(sent).trim();
  return /^-?\d+$/.test(digits) ? Number(digits) : Number.NaN;
}
