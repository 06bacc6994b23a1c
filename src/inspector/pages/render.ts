import { join } from 'node:path';
import { Eta } from 'eta';
import type { Response } from 'express';
import { visible } from '../../base/visible.ts';
import * as words from './words.ts';

const VIEWS = join(import.meta.dirname, '../views');

/** Sends a page, made from a view and its values. */
export type Render = (res: Response, view: string, data: object) => void;

export function renderer(shared: { readonly mayLeave: boolean; readonly hasApp: boolean }): Render {
  const eta = new Eta({ views: VIEWS, cache: true, autoEscape: true, rmWhitespace: false });
  const exact = eta.config.escapeFunction;
  eta.config.escapeFunction = (text) => visible(exact(text));
  // `exact` is for values that a form sends back.
  const given = { ...shared, ...words, time: words.timeElement, exact };
  return (res, view, data) =>
    void res.type('html').send(eta.render(view, { nav: undefined, ...given, ...data }));
}
