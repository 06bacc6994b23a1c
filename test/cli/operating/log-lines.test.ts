import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { textOf } from '../../support/manual.ts';

const source = join(import.meta.dirname, '../../..', 'src');
const rooms = ['service.ts', 'cli/serve.ts', 'cli/uncaught.ts', 'log.ts', 'receiver/', 'store/', 'dispatch/'];
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && rooms.some((room) => file.startsWith(room)),
);
const texts = files.map((file) => readFileSync(join(source, file), 'utf8').replace(/^ *(\*|\/\/).*$/gm, ''));

/** What the server logs, where a message is a plain text. */
const messages = texts.flatMap((text) =>
  [
    ...text.matchAll(/\blog\s*\.(?:debug|info|warn|error|fatal)\(\s*(?:\{[^}]*\}|[\w.]+)?,?\s*'([^']+)'/g),
  ].map(([, message = '']) => message),
);

test('is explained in the documentation, whatever the server logs', () => {
  expect(messages.length).toBeGreaterThan(10);
  const page = textOf('operating.md').split('## What the log says')[1];
  for (const message of messages) expect(page).toContain(`\`${message}\``);
});
