import { join } from 'node:path';
import { Eta } from 'eta';
import type { Response } from 'express';
import { visible } from '../../base/text.ts';
import { rootOf } from './page.ts';
import * as words from './words.ts';

/** A part of a page asks for itself again when something has changed. */
const REFRESHING = 'hx-trigger="changes from:body throttle:1s, every 15s"';
const VIEWS = join(import.meta.dirname, '../views');

/** Sends a page, made from a view and its values. */
export type Render = (res: Response, view: string, data: object) => void;

export function renderer(shared: { readonly mayLeave: boolean; readonly hasApp: boolean }): Render {
  const eta = new Eta({ views: VIEWS, cache: true, autoEscape: true, rmWhitespace: false });
  const exact = eta.config.escapeFunction;
  eta.config.escapeFunction = (text) => visible(exact(text));
  // `exact` is for values that a form sends back.
  const given = { ...shared, ...words, exact, nav: undefined };
  return (res, view, data) => {
    const url = res.req.originalUrl.slice(1);
    const live = (id: string) =>
      `id="${id}" data-live hx-get="${exact(url || './')}" hx-select="#${id}" hx-swap="outerMorph" ${REFRESHING}`;
    const place = { root: rootOf(res.req), url, live };
    res.type('html').send(eta.render(view, { ...given, ...place, ...data }));
  };
}
