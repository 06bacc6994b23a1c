#!/usr/bin/env node
// Plain JavaScript that every Node can read, so that an old one gets a sentence and not a crash in native code.
const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(`hookkit needs Node.js 24 or newer, and this is ${process.versions.node}: use npx hookkit\n`);
  process.exit(1);
}
await import('../src/cli/main.ts');
