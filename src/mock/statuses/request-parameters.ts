import express, { type Request, type Response } from 'express';
import { ApiError } from './api-error.ts';

/** The parameters of a request, by name, wherever in the request they came from. Without a prototype. */
export type Parameters = { readonly [name: string]: unknown };

/** Larger uploads than Mastodon's own limit on images are of no use in a mock that keeps everything in memory. */
const BODY_LIMIT = '16mb';

const raw = express.raw({ type: () => true, limit: BODY_LIMIT });

/**
 * The parameters of a request. Query string, urlencoded form, multipart form and JSON are equally understood on every
 * operation; a parameter of the body outweighs one of the query. A body of any other type is ignored, as Rails does.
 * @throws ApiError 400 if the body does not match its Content-Type; an http-errors error if it is too large
 */
export async function readParameters(request: Request, response: Response): Promise<Parameters> {
  const [, ...query] = request.originalUrl.split('?');
  const fromQuery = nest(new URLSearchParams(query.join('?')));
  const body = await readBody(request, response);
  if (body.length === 0) return fromQuery;
  return merge(fromQuery, await parseBody(body, request.get('content-type')));
}

function readBody(request: Request, response: Response): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    raw(request, response, (error?: unknown) => {
      if (error !== undefined) reject(error);
      else resolve(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0));
    });
  });
}

async function parseBody(
  body: Buffer,
  contentType = 'application/x-www-form-urlencoded',
): Promise<Parameters> {
  const mediaType = contentType.split(';')[0]?.trim().toLowerCase();
  if (mediaType === 'application/json') return parseJson(body);
  if (mediaType === 'application/x-www-form-urlencoded') return nest(new URLSearchParams(body.toString()));
  if (mediaType === 'multipart/form-data') return nest(await parseMultipart(body, contentType));
  return nest([]);
}

function parseJson(body: Buffer): Parameters {
  const text = new TextDecoder().decode(body);
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? merge({ ...value }) : {};
  } catch {
    throw unreadable();
  }
}

/** Node's own parser, the one behind `fetch`, takes everything that the multipart writers of real clients produce. */
async function parseMultipart(body: Buffer, contentType: string): Promise<FormData> {
  try {
    return await new globalThis.Response(new Uint8Array(body), {
      headers: { 'Content-Type': contentType },
    }).formData();
  } catch {
    throw unreadable();
  }
}

function unreadable(): ApiError {
  return new ApiError(400, 'Error occurred while parsing request parameters');
}

/** `name`, `name[]`, `name[member]` and `name[member][]`: no operation of this API has parameters that nest deeper. */
const KEY = /^([^[\]]+)(?:\[([^[\]]+)\])?(\[\])?$/;

/**
 * Puts the flat entries of a query or a form together as Rails does: `media_ids[]` makes a list, `poll[options][]` a list
 * inside of an object, and of two plain entries with one name the last one counts.
 * @throws ApiError 400 where one name is used both as a list or object and as a plain value
 */
function nest(entries: Iterable<readonly [string, unknown]>): Parameters {
  const parameters = emptyParameters();
  for (const [key, value] of entries) {
    const [, name, member, list] = KEY.exec(key) ?? [];
    if (name === undefined) continue;
    const target = member === undefined ? parameters : objectAt(parameters, name);
    const leaf = member ?? name;
    if (list === undefined) target[leaf] = value;
    else listAt(target, leaf).push(value);
  }
  return parameters;
}

/** One set of parameters of several; where two have the same name, the later one counts. */
function merge(...all: readonly Parameters[]): Parameters {
  return Object.assign(emptyParameters(), ...all);
}

type Building = { [name: string]: unknown };

function emptyParameters(): Building {
  return Object.create(null);
}

function objectAt(target: Building, name: string): Building {
  target[name] ??= emptyParameters();
  const found = target[name];
  if (!isObject(found)) throw conflict(name);
  return found;
}

function listAt(target: Building, name: string): unknown[] {
  target[name] ??= [];
  const found = target[name];
  if (!Array.isArray(found)) throw conflict(name);
  return found;
}

function isObject(value: unknown): value is Building {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null;
}

function conflict(name: string): ApiError {
  return new ApiError(400, `Bad Request: the parameter ${name} is both a plain value and a list or object`);
}
