import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import express, { Router } from 'express';

const { resolve } = createRequire(import.meta.url);

/** The files of installed packages that pages load, unchanged: there is no build step and no foreign host. */
const PACKAGED: Readonly<Record<string, string>> = {
  'htmx.js': resolve('htmx.org/dist/htmx.min.js'),
  'hx-sse.js': resolve('htmx.org/dist/ext/hx-sse.min.js'),
  'pico.css': join(dirname(resolve('@picocss/pico/package.json')), 'css/pico.min.css'),
  'uplot.js': resolve('uplot/dist/uPlot.esm.js'),
  'uplot.css': resolve('uplot/dist/uPlot.min.css'),
};

/** Scripts and styles. They contain no data, so they need no token; the sign-in page uses them. */
export function assets(): Router {
  const router = Router();
  router.use(express.static(join(import.meta.dirname, 'assets')));
  for (const [name, path] of Object.entries(PACKAGED))
    router.get(`/${name}`, (_req, res) => res.sendFile(path));
  return router;
}
