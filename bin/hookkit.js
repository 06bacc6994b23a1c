#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';

// Plain JavaScript that every Node can read, so that an old one gets a sentence and not a crash in native code.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `hookkit needs Node.js 24 or newer, and this is ${process.versions.node}: ${advice()}\n`,
  );
  process.exit(1);
}
// Keeps the JavaScript that Node makes of the TypeScript, which halves the time to start and saves 20 MB. It lies among
// the packages: a user who can write there can change the program itself anyway. Where no user can write, Node skips it.
// Threads look for it in the environment. Without it each would strip types by itself, in WebAssembly, and V8 aborts now
// and then when several do.
const cache = fileURLToPath(new URL('../node_modules/.cache/hookkit', import.meta.url));
module.enableCompileCache?.(cache);
process.env.NODE_COMPILE_CACHE ??= cache;
// Loading leaves little behind: were V8 to make room for it meanwhile, a server would keep 12 MB more than it needs.
v8.setFlagsFromString('--semi-space-growth-factor=1');
const { run } = await import('../src/cli/main.ts');
const { stdout, stderr, env } = process;
const code = await run(process.argv.slice(2), {
  // Not opened before a command reads it.
  get stdin() {
    return process.stdin;
  },
  stdout,
  stderr,
  env,
  cwd: process.cwd(),
  onLoaded: () => v8.setFlagsFromString('--semi-space-growth-factor=2'),
});
if (code !== 0) process.exitCode = code;

/** The remedy: the Node that npm ci installed, unless npm ran this already and found the old Node first. */
function advice() {
  const own = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
  if (!existsSync(own)) {
    return 'install a newer one (https://nodejs.org), or run npm ci without --omit=dev, which installs one for npx and npm';
  }
  if (!process.env.npm_execpath) return 'use npx hookkit';
  return `npm has found ${process.execPath} first; use ${own} ${fileURLToPath(import.meta.url)}`;
}
