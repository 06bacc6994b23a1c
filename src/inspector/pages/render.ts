import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';
import type { Request, Response } from 'express';
import { visible } from '../../base/text.ts';
import type { Inspected } from '../api/endpoint.ts';
import * as words from './words.ts';

/** Makes a page: the values that its view needs, and the name of the view where that is not the first part of the path. */
export type Page = (inspected: Inspected, req: Request, res: Response) => Promise<PageData>;
type PageData = { readonly view?: string; readonly [name: string]: unknown };

/** The texts of a query or form as they were given, without empty ones, to fill forms and links. */
export function textsOf(given: object, names: readonly string[]): Record<string, string> {
  const isGiven = (value: unknown) => typeof value === 'string' && value !== '';
  const texts = Object.entries(given).filter(([name, value]) => names.includes(name) && isGiven(value));
  return Object.fromEntries(texts);
}

/** The way from a request's path to that of the listener. Links are relative, so that they lead on below the path of a proxy. */
export function rootOf({ originalUrl }: Pick<Request, 'originalUrl'>): string {
  const [path = ''] = originalUrl.split('?');
  return '../'.repeat(path.split('/').length - 2) || './';
}

const VIEWS = join(import.meta.dirname, '../views');

/** Sends a page, made from a view and its values. */
export type Render = (res: Response, view: string, data: object) => void;

export function renderer(shared: Readonly<Record<'mayLeave' | 'hasApp' | 'isDev', boolean>>): Render {
  const eta = new Eta({ views: VIEWS, cache: true, autoEscape: true, rmWhitespace: false });
  const views = readdirSync(VIEWS).map((name) => join(VIEWS, name));
  const texts = new Map(views.map((path) => [path, readFileSync(path, 'utf8')]));
  eta.readFile = (path) => texts.get(path) ?? '';
  const exact = eta.config.escapeFunction;
  eta.config.escapeFunction = (text) => visible(exact(text));
  // `exact` is for values that a form sends back.
  const given = { ...shared, ...words, exact, nav: undefined };
  return (res, view, data) => {
    const mayChange = !res.locals.mayOnlyRead;
    const url = res.req.originalUrl.slice(1);
    // A part of a page asks for itself again when something has changed, at most once in so many seconds.
    const live = (id: string, seconds = 1, path = url || './') =>
      `id="${id}" data-live hx-get="${exact(path)}" hx-select="#${id}" hx-swap="outerMorph"` +
      ` hx-trigger="changes from:body throttle:${seconds}s, every 15s"`;
    res
      .type('html')
      .send(eta.render(view, { ...given, mayChange, root: rootOf(res.req), url, live, ...data }));
  };
}
