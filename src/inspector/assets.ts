import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import express, { Router } from 'express';

const { resolve } = createRequire(import.meta.url);

/** What pages load from installed packages, as it comes in them: nothing is built and nothing comes from elsewhere. */
const PACKAGED: Readonly<Record<string, string>> = {
  'htmx.js': resolve('htmx.org/dist/htmx.min.js'),
  'hx-sse.js': resolve('htmx.org/dist/ext/hx-sse.min.js'),
  'pico.css': join(dirname(resolve('@picocss/pico/package.json')), 'css/pico.min.css'),
  'uplot.js': resolve('uplot/dist/uPlot.esm.js'),
  'uplot.css': resolve('uplot/dist/uPlot.min.css'),
};

const OWN = join(import.meta.dirname, 'assets');

/** Scripts and styles. They hold nothing of anybody's, so they need no token: the sign-in page uses them. */
export function assets(): Router {
  const router = Router();
  for (const [name, path] of Object.entries(PACKAGED)) {
    router.get(`/${name}`, (_req, res) => res.sendFile(path, { cacheControl: false, headers: REVALIDATE }));
  }
  router.use(express.static(OWN, { index: false, setHeaders: (res) => res.set(REVALIDATE) }));
  return router;
}

/** They change with the installed version; asking by ETag costs next to nothing here. */
const REVALIDATE = { 'Cache-Control': 'no-cache' };
