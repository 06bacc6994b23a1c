#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const inKit = (path) => new URL(`../${path}`, import.meta.url);
// A clone runs its TypeScript. The package holds the JavaScript of it, as Node strips no types below node_modules.
const isClone = existsSync(inKit('src/cli/main.ts'));
const packages = inKit(/\/node_modules\/[^/]+\/bin\/[^/]+$/.test(import.meta.url) ? '../' : 'node_modules/');

// Plain JavaScript that every Node can read, so that an old one gets a sentence and not a crash in native code.
const major = Number(process.versions.node.split('.')[0]);
// The app that it writes then has a Node.js of its own among its packages.
const isForAnyNode = !isClone && major >= 20 && process.argv[2] === 'init';
if (major < 24 && !isForAnyNode) {
  process.stderr.write(
    `hookkit needs Node.js 24 or newer, and this is ${process.versions.node}: ${advice()}\n`,
  );
  process.exit(1);
}
// Keeps what Node makes of the program, which halves the time to start; of the TypeScript of a clone it saves 20 MB, too. It
// lies among the packages: a user who can write there can change the program itself anyway. Where no user can write, Node
// skips it. Threads look for it in the environment. Without it each of a clone would strip types by itself, in WebAssembly, and
// V8 aborts now and then when several do.
const cache = fileURLToPath(new URL('.cache/hookkit', packages));
module.enableCompileCache?.(cache);
process.env.NODE_COMPILE_CACHE ??= cache;
// An old Node has none, and init asks it.
Error.isError ??= (thrown) => thrown instanceof Error;
// npm, npx and others run this in a shell. SIGTERM to them ends the shell, which does not pass it on. A server then stops at
// `disconnect`, as Node calls the loss of a parent; other commands end at SIGTERM.
if (process.env.npm_lifecycle_event) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    if (!process.emit('disconnect')) process.kill(process.pid, 'SIGTERM');
  }, 500);
  watch.unref();
}
const { run } = await import(inKit(isClone ? 'src/cli/main.ts' : 'dist/cli/main.js').href);
process.exitCode = await run(process.argv.slice(2)); // also where a handler has set another

/** The remedy: the Node that npm has installed, unless npm ran this already and found the old Node first. */
function advice() {
  const own = fileURLToPath(new URL('node/bin/node', packages));
  if (!existsSync(own)) {
    if (existsSync(new URL('node/package.json', packages)))
      return 'npm has installed the package node without its program; allow its install script, and run npm rebuild node';
    return isClone
      ? 'install a newer one (https://nodejs.org), or run npm ci without --omit=dev, which installs one for npx and npm'
      : 'install a newer one (https://nodejs.org), or one for npx and npm scripts in this folder: npm install --save-dev node@24';
  }
  if (!process.env.npm_execpath) return 'use npx hookkit';
  return `npm has found ${process.execPath} first; use ${own} ${fileURLToPath(import.meta.url)}`;
}
