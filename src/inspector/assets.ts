import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { Router } from 'express';

const { resolve } = createRequire(import.meta.url);

/** The files of installed packages that pages load, unchanged: there is no build step and no foreign host. */
const PACKAGED: Readonly<Record<string, string>> = {
  'htmx.js': resolve('htmx.org/dist/htmx.min.js'),
  'hx-sse.js': resolve('htmx.org/dist/ext/hx-sse.min.js'),
  'pico.css': join(dirname(resolve('@picocss/pico/package.json')), 'css/pico.min.css'),
  'uplot.js': resolve('uplot/dist/uPlot.esm.js'),
  'uplot.css': resolve('uplot/dist/uPlot.min.css'),
};

const OWN = join(import.meta.dirname, 'assets');

/**
 * Scripts and styles. They contain no data, so they need no token; the sign-in page uses them. They are read once, so
 * that a slow client does not keep a file open.
 */
export function assets(): Router {
  const own = readdirSync(OWN).map((name) => [name, join(OWN, name)] as const);
  const files = new Map([...Object.entries(PACKAGED), ...own].map(([name, path]) => [name, read(path)]));
  const router = Router();
  router.get('/:name', (req, res, next) => {
    const file = files.get(req.params.name);
    if (!file) return next();
    // They change with the installed version; asking by ETag costs next to nothing here.
    res.set({ 'Cache-Control': 'no-cache', 'Content-Type': file.type, ETag: file.etag }).send(file.bytes);
  });
  return router;
}

function read(path: string) {
  const bytes = readFileSync(path);
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
  return { bytes, etag, type: TYPES[extname(path)] ?? 'application/octet-stream' };
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
