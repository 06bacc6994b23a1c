import { ApiError } from './api-error.ts';

/** The parameters of a call, by name, wherever in the request they came from. Without a prototype. */
export type Parameters = { readonly [name: string]: unknown };

/** `name`, `name[]`, `name[member]` and `name[member][]`: no operation of this API has parameters that nest deeper. */
const KEY = /^([^[\]]+)(?:\[([^[\]]+)\])?(\[\])?$/;

/**
 * Puts the flat entries of a query or a form together as Rails does: `media_ids[]` makes a list, `poll[options][]` a list
 * inside of an object, and of two plain entries with one name the last one counts.
 * @throws ApiError 400 where one name is used both as a list or object and as a plain value
 */
export function nest(entries: Iterable<readonly [string, unknown]>): Parameters {
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
export function merge(...all: readonly Parameters[]): Parameters {
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
